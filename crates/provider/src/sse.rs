//! Server-sent events out of bytes, however they were cut on the way.
//!
//! Our own, because two things matter here that a general reader leaves open: an event is bounded while it is still
//! arriving, and bytes that are not UTF-8 are an error instead of a replacement character in somebody's file.

use crate::error::Fault;

/// One event: its name, empty when the server gave none, and its data.
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
    /// With the most bytes that one event may have.
    pub(crate) fn new(limit: usize) -> Self {
        let event = SseEvent::default();
        Self { limit, line: Vec::new(), event, has_data: false, after_return: false, at_start: true }
    }

    /// Takes bytes, and adds the events that they complete. What was complete before a problem is added, too.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Fault> {
        while let Some(&first) = bytes.first() {
            // A line ends with either or both; the second of both may be in the next piece.
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
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
        let line = if std::mem::take(&mut self.at_start) {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        } else {
            &line
        };
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
            // Comments, which keep a connection alive, have an empty name; ids and others are not used.
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
        let (mut reader, mut events) = (SseReader::new(64), Vec::new());
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
    fn events_as_servers_write_them() {
        check(&[b"event: a\ndata: 1\n\n"], &[("a", "1")]);
        check(&[b"data:1\r\n\r\ndata: 2\r\r"], &[("", "1"), ("", "2")]);
        check(&[b"data: 1\ndata: 2\n\n"], &[("", "1\n2")]);
        check(&[b": ping\n\nevent: only a name\n\nid: 3\ndata\n\n"], &[("", "")]);
        check(&[b"\xef\xbb\xbfdata: 1\n\n"], &[("", "1")]);
    }

    #[test]
    fn pieces_end_anywhere() {
        check(&[b"da", b"ta: \xc3", b"\xa4\r", b"\n\r", b"\ndata: 2\n", b"\n"], &[("", "ä"), ("", "2")]);
    }

    #[test]
    fn half_an_event_is_none() {
        check(&[b"data: 1\n\ndata: 2\n"], &[("", "1")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert!(read(&[b"data: \xff\n\n"]).unwrap_err().message.contains("UTF-8"));
    }

    #[test]
    fn an_event_is_bounded_while_it_arrives() {
        assert!(read(&[&[b'x'; 65]]).is_err());
        assert!(read(&[b"data: ", &[b'x'; 40], b"\n", b"data: ", &[b'x'; 40]]).is_err());
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(text in "((event|data): [a-zäß]{0,5}(\n|\r|\r\n)|\n|\r\n){0,12}", at in 0usize..200) {
            let bytes = text.as_bytes();
            let (left, right) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(read(&[left, right]), read(&[bytes]));
        }
    }
}
