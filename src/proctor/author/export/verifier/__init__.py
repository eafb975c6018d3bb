"""Programs that exported tasks contain. They run in the containers of other tools, where Proctor is not installed."""
