//! Parses server-sent events from bytes that may be split anywhere.
//!
//! This is our own parser because of two requirements that general ones leave open: the size of an event is limited while it
//! is arriving, and invalid UTF-8 is an error instead of a replacement character that would end up in a user's file.

use crate::error::Fault;

/// An event with its name, which may be empty, and its data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Collects bytes into events.
#[derive(Debug)]
pub(crate) struct SseReader {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_return: bool,
    at_start: bool,
}

impl SseReader {
    /// Creates a reader with a limit on the bytes of an event.
    pub(crate) fn new(limit: usize) -> Self {
        let event = SseEvent::default();
        Self { limit, line: Vec::new(), event, has_data: false, after_return: false, at_start: true }
    }

    /// Adds bytes, and returns the events that they complete. Events before an error are returned, too.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Fault> {
        while let Some(&first) = bytes.first() {
            // A line ends with CR, LF or both, and the LF of a pair may be in the next piece.
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            // The line and the data before it count together. Otherwise an event of many short lines would pass a limit
            // on each of them.
            if self.line.len() + self.event.data.len() + part.len() > self.limit {
                return Err(Fault::malformed(format!(
                    "an event of the answer is longer than {} bytes",
                    self.limit
                )));
            }
            self.line.extend_from_slice(part);
            bytes = rest;
            if let Some(&end) = rest.first() {
                self.after_return = end == b'\r';
                bytes = &rest[1..];
                self.end_line(events)?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), Fault> {
        let line = String::from_utf8(std::mem::take(&mut self.line))
            .map_err(|_| Fault::malformed("the answer contains bytes that are not UTF-8"))?;
        // A byte order mark is allowed before the first line only. Later, U+FEFF is an ordinary character of a text.
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        } else {
            &line
        };
        // A blank line ends an event. Without data it is only a named ping, which must be dropped
        // according to the specification.
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments that keep a connection alive have an empty field name. Ids and other fields are not used.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, Fault> {
        let mut reader = SseReader::new(64);
        let mut events = Vec::new();
        for piece in pieces {
            reader.push(piece, &mut events)?;
        }
        Ok(events.into_iter().map(|event| (event.name, event.data)).collect())
    }

    fn check(pieces: &[&[u8]], expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(read(pieces).unwrap(), expected);
    }

    #[test]
    fn events_of_real_servers_are_parsed() {
        check(&[b"event: a\ndata: 1\n\n"], &[("a", "1")]);
        check(&[b"data:1\r\n\r\ndata: 2\r\r"], &[("", "1"), ("", "2")]);
        check(&[b"data: 1\ndata: 2\n\n"], &[("", "1\n2")]);
        check(&[b": ping\n\nevent: only a name\n\nid: 3\ndata\n\n"], &[("", "")]);
        check(&[b"\xef\xbb\xbfdata: 1\n\n"], &[("", "1")]);
    }

    #[test]
    fn pieces_may_end_anywhere() {
        check(&[b"da", b"ta: \xc3", b"\xa4\r", b"\n\r", b"\ndata: 2\n", b"\n"], &[("", "ä"), ("", "2")]);
    }

    #[test]
    fn incomplete_event_is_dropped() {
        check(&[b"data: 1\n\ndata: 2\n"], &[("", "1")]);
    }

    #[test]
    fn invalid_utf_8_is_an_error() {
        assert!(read(&[b"data: \xff\n\n"]).unwrap_err().message.contains("UTF-8"));
    }

    #[test]
    fn event_size_is_limited_while_arriving() {
        assert!(read(&[&[b'x'; 65]]).is_err());
        assert!(read(&[b"data: ", &[b'x'; 40], b"\n", b"data: ", &[b'x'; 40]]).is_err());
    }

    proptest! {
        #[test]
        fn split_position_does_not_matter(text in "((event|data): [a-zäß]{0,5}(\n|\r|\r\n)|\n|\r\n){0,12}", at in 0usize..200) {
            let bytes = text.as_bytes();
            let (left, right) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(read(&[left, right]), read(&[bytes]));
        }
    }
}
