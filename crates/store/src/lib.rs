//! SQLite and PostgreSQL
