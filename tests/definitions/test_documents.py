"""The comparison of documents finds what it should: an oracle that finds nothing proves nothing."""

import documents
import pytest


@pytest.mark.parametrize("name", documents.ALL)
@pytest.mark.parametrize("count", [200, 1000, documents.LARGE])
def test_a_document_has_so_many_different_objects(name, count):
    document = documents.ALL[name](count)
    assert documents.size(document) == count == sum(map(len, documents.objects(document).values()))


def test_what_is_missing_and_what_is_strange_is_told():
    document = documents.mixed(400)
    expected = documents.objects(document)
    assert documents.difference(expected, expected) == []
    for kind in documents.KINDS:
        less = {**expected, kind: set(sorted(expected[kind])[1:])}
        assert len(documents.difference(less, expected)) == 1
        assert documents.difference(less, expected, is_part_enough=True) == []
        assert len(documents.difference(expected, less)) == 1
        assert len(documents.difference(expected, less, is_part_enough=True)) == 1


def test_half_an_object_is_strange():
    document, half = documents.mixed(400), documents.mixed(400)
    half["permissions"][0]["read"] = ""
    half["queues"][0]["arguments"] = {}
    told = documents.difference(documents.objects(half), documents.objects(document), is_part_enough=True)
    assert len(told) == 2, told


def test_a_brokers_own_user_is_not_strange_whatever_its_salt():
    document, fresh = documents.mixed(400), {kind: [] for kind in documents.KINDS}
    fresh["users"] = [{"name": "guest", "password_hash": "a", "hashing_algorithm": "h", "tags": []}]
    export = document | {"users": [{**fresh["users"][0], "password_hash": "b"}, *document["users"]]}
    assert documents.difference(documents.beyond(export, fresh), documents.objects(document)) == []
