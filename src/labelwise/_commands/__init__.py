"""The subcommands of ``labelwise``: each module holds one click command named ``command``."""
