//! Tests of the commands that read instruction files.

mod check;
mod compare;
mod explain;
mod finding;
mod imports;
mod init;
mod profiles;
mod resolve;
mod session;
mod show;
mod watch;
