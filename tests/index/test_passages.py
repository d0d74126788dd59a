from vaultd.index.passages import passages_of, spans_of

LONG = "\n".join(
    f"# Day {i}\n" + "The weather was fine and we walked to the lake. 今天走到湖边。" * 6 for i in range(12)
)


def test_spans_are_where_the_passages_stand():
    passages = passages_of(LONG)

    assert len(passages) > 3
    assert list(spans_of(LONG)) == [(passage.start, passage.end) for passage in passages]


def test_a_short_body_is_one_span_and_a_blank_one_none():
    assert list(spans_of("Tea in the morning.")) == [(0, 19)]
    assert list(spans_of(" \n ")) == []
