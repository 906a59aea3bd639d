-- Which database this is, so that another one in its place is noticed, and a place to try whether it can be written.

CREATE TABLE instance (
    id TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);
CREATE TABLE write_probe (
    id TEXT PRIMARY KEY,
    content TEXT NOT NULL
);
