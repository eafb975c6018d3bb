"""The model gateway: a streaming reverse proxy between an agent in its sandbox and the providers of its models.

    service    Gateway, the door: ``start``, ``serve`` a listening socket, ``hold`` and ``release``, ``stop``
    settings   what a gateway is told; keys are values in here and nowhere inside the sandbox
    meter      spend that is reserved before each call and settled after it
    dialects   how each provider spells requests, answers, errors and usage; pure
    sources    where answers come from: a provider, a cassette, a script
    scripted   models that answer from a file of turns

What the agent sends is read, bounded and put into a normal form before anything leaves; the request as it came and the
request as it went are both on record. Nothing in the answers is changed but what would show a key. Only ``service``,
``settings``, ``meter`` and ``scripted`` are for others to use.
"""
