"""Asks the service on this machine how it is: `health.py PORT` ends with exit code 0 when it is well."""

import sys
import urllib.request

if __name__ == "__main__":
    with urllib.request.urlopen(f"http://127.0.0.1:{int(sys.argv[1])}/health", timeout=3.0) as answer:
        sys.exit(answer.status != 200)
