"""Models that answer from a file of turns, in every dialect: for demonstrations and tests, with no key and no network.

    schema: 1
    turns:
      - shell: "sed -i s/-/+/ calc.py"       a call of whatever shell tool the agent offers
      - say: "Looking."
        call: {tool: read, arguments: {path: a.py}}
      - when: {tools: false}
        say: "A title"
      - say: "Done."

Turns with ``when`` are tried first, in order, and each answers whenever all its conditions hold: ``step`` (a number),
``last`` (a regular expression on the last message), ``result`` (on the last tool result), ``text`` (on any message),
``tools`` (whether the agent offers any), ``model`` (on the name of the model). The other turns are steps. Where tools
are offered, the step is the number of answers with calls so far, else the number of answers; after the last step the
model says that it is done. Answering depends on the request alone.

A turn may also have ``think``, ``calls`` (several), ``usage: {input: 10, output: 5}`` (``null`` to leave it out),
``error: {status: 429, message: ..., retry_after: 1}``, ``pause_seconds`` between the parts of a stream, and a
``fault``: cut, hang, garbage, long-line or html.

Instead of steps a script can say what to ``find`` (see ``finding``): a model that searches, reads and derives its edit.
"""
