"""The phone's shell: text of a command line -> syntax tree -> output and exit code."""

from rlfactory.emulators.simulator.shell.run import ShellOutput, run

__all__ = ["ShellOutput", "run"]
