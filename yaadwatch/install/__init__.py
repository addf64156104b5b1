"""The service: units, install, upgrade, uninstall."""
