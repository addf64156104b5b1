"""The service: units, install, upgrade and uninstall; the settings file."""
