"""Operations, their requests and answers, and the frames on the wire."""
