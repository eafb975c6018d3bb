"""Roman numerals."""

LETTERS = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


def write(number):
    """A number as a Roman numeral."""
    text = ""
    for letter, value in LETTERS.items():
        while number >= value:
            text += letter
            number -= value
    return text


def read(text):
    """The number that a Roman numeral means."""
    return sum(LETTERS[letter] for letter in text)
