"""The model gateway: a streaming reverse proxy between an agent in its sandbox and the providers of its models.

    service    Gateway, the interface: ``start``, ``serve`` a listening socket, ``hold`` and ``release``, ``stop``
    settings   the settings of a gateway, with the keys, which are nowhere inside the sandbox
    meter      spend that is reserved before each call and settled after it
    dialects   the form of requests, answers, errors and usage of each provider; pure
    sources    sources of answers: a provider, a cassette, a script
    scripted   models that answer from a file of turns

The agent's request is read, bounded and normalized before it is forwarded; the original and the forwarded request are
both recorded. Answers are not changed, except for text that would show a key. Only ``service``,
``settings``, ``meter`` and ``scripted`` are for others to use.
"""
