//! Any bytes as a session file: refused or read, and what is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(session) = instructions::parse_session(bytes) else { return };
    assert_eq!(session.schema, instructions::SCHEMA);
    let written = serde_json::to_vec(&session).expect("what was read can be written");
    let again = instructions::parse_session(&written);
    assert_eq!(again.ok(), Some(session));
});
