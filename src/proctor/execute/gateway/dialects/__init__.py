"""The dialects of providers' interfaces: one file for each, all of them pure."""
