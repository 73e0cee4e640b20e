"""What can go wrong that is not our fault, each told in one sentence: what was given, what is wrong, what to try.

RegardError            anything below; the command line prints it and leaves with exit code 1
├── ConfigError        a setting is unknown, of the wrong type, or cannot go with another
├── DataError          a file cannot be read as the text it should hold
├── RunError           a folder is not a run, or not one that this can be done with
└── DeviceError        the machine has no such device

Anything else that surfaces is a fault in regard.
"""

from __future__ import annotations


class RegardError(Exception):
    """Something a user can mend; str(error) is the whole message."""


class ConfigError(RegardError):
    """A setting is unknown, of the wrong type, or cannot go with another."""


class DataError(RegardError):
    """A file cannot be read as the text it should hold."""


class RunError(RegardError):
    """A folder is not a run, or not one that this can be done with."""


class DeviceError(RegardError):
    """The machine has no such device."""
