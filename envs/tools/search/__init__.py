"""Search over passages: a corpus in JSON lines, a BM25 index, vectors beside it, and a server that speaks Search-R1."""
