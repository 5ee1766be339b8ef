"""`python -m rlfactory`: the command line."""

from rlfactory.cli import main

main()
