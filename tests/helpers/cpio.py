"""What a cpio archive holds, read without the code that writes it."""

from collections.abc import Iterator


def archived(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The names in an archive, and what is behind each."""
    at = 0
    while True:
        fields = [int(archive[at + 6 + 8 * index : at + 14 + 8 * index], 16) for index in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data_at = (at + 110 + name_size + 3) & ~3
        if name == "TRAILER!!!":
            return
        yield name, archive[data_at : data_at + size]
        at = (data_at + size + 3) & ~3
