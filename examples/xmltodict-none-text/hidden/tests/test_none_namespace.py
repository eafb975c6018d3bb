"""A namespace is declared by an attribute, and None as its value is nothing as well."""

import xmltodict


def test_a_namespace_of_none_is_declared_as_nothing():
    written = xmltodict.unparse({"a": {"@xmlns": {"x": None}, "b": "1"}}, full_document=False)
    assert written == '<a xmlns:x=""><b>1</b></a>'


def test_a_namespace_with_a_name_is_declared_as_before():
    written = xmltodict.unparse({"a": {"@xmlns": {"": "http://a.example/"}}}, full_document=False)
    assert written == '<a xmlns="http://a.example/"></a>'
