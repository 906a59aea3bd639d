//! Reads the lines of a server: counts them, repairs them, and turns unreadable answers into errors.
//!
//! The library silently drops a line that is too long or not JSON, and the caller waits until its time limit. If such a line
//! shows which call it answers, that call fails immediately instead.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

use crate::transport::flood_limit::{Allowance, FLOOD};
use crate::transport::process::ServerEnd;
use crate::transport::task_tools;

/// Bytes per read.
const CHUNK: usize = 16 << 10;
/// Bytes at the beginning of an unreadable answer in which its id is searched.
const HEAD: usize = 512;
/// Most bytes of an id.
const MAX_ID: usize = 64;

/// The lines of a server's output.
pub(crate) struct ServerLines<R> {
    inner: R,
    allowance: Allowance,
    end: ServerEnd,
    max_bytes: usize,
    /// The current line, or the beginning of one that is too long.
    line: Vec<u8>,
    is_too_long: bool,
    /// Bytes ready to be read, and the number already read.
    ready: Vec<u8>,
    given: usize,
}

impl<R> ServerLines<R> {
    pub(crate) fn new(inner: R, max_bytes: usize, allowance: Allowance, end: ServerEnd) -> Self {
        let line = Vec::new();
        let ready = Vec::new();
        Self { inner, allowance, end, max_bytes, line, is_too_long: false, ready, given: 0 }
    }

    fn take(&mut self, chunk: &[u8]) -> io::Result<()> {
        let now = Instant::now();
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = self.max_bytes.saturating_sub(self.line.len());
            self.is_too_long |= part.len() > room;
            // The rest of a line that is too long is dropped, but its beginning is kept, because it may contain the id
            // of the call that would otherwise wait in vain.
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if !part.ends_with(b"\n") {
                continue;
            }
            if !self.allowance.take(now) {
                self.end.record(FLOOD.to_owned());
                return Err(io::Error::other(FLOOD));
            }
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.is_too_long) {
                let why = format!("its answer has more than {} bytes", self.max_bytes);
                self.ready.extend(unreadable(&line, &why).unwrap_or_default());
            } else {
                self.ready.extend(readable(line));
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ServerLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let left = &self.ready[self.given..];
            if !left.is_empty() {
                let length = left.len().min(buffer.remaining());
                buffer.put_slice(&left[..length]);
                self.given += length;
                if self.given == self.ready.len() {
                    self.ready.clear();
                    self.given = 0;
                }
                return Poll::Ready(Ok(()));
            }
            let mut bytes = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.inner).poll_read(context, &mut chunk) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // An incomplete last line is not a message.
                Poll::Ready(Ok(())) if chunk.filled().is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => self.take(chunk.filled())?,
            }
        }
    }
}

/// Repairs a line: half a surrogate pair, which programs write that cut a text inside an emoji, is replaced, and an answer that
/// is not JSON becomes an error.
fn readable(mut line: Vec<u8>) -> Vec<u8> {
    replace_halves(&mut line);
    match serde_json::from_slice::<IgnoredAny>(&line) {
        Ok(_) => task_tools::marked(line),
        Err(error) => unreadable(&line, &format!("its answer is not JSON: {error}")).unwrap_or(line),
    }
}

/// Returns an error answer for the call that an unreadable line answers.
fn unreadable(line: &[u8], why: &str) -> Option<Vec<u8>> {
    let head = &line[..line.len().min(HEAD)];
    let find = |words: &[u8]| head.windows(words.len()).position(|here| here == words);
    // A request of the server is not an answer.
    if find(br#""method""#).is_some() {
        return None;
    }
    let after = &head[find(br#""id""#)? + 4..];
    let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    // Parsed by hand, because the line is not valid JSON or is cut off. Only the two forms of an id that clients send
    // are recognised.
    let length = match value.first()? {
        b'"' => value.iter().skip(1).position(|byte| *byte == b'"')? + 2,
        b'0'..=b'9' => value.iter().position(|byte| !byte.is_ascii_digit())?,
        _ => return None,
    };
    let id: serde_json::Value = serde_json::from_slice(value.get(..length.min(MAX_ID))?).ok()?;
    let error = serde_json::json!({ "code": -32603, "message": why });
    let mut answer =
        serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes();
    answer.push(b'\n');
    Some(answer)
}

/// Replaces every `\ud800` to `\udfff` that is half of a pair by `\ufffd`.
fn replace_halves(line: &mut [u8]) {
    /// Parses the number of an escape at the beginning of `bytes`.
    fn escape(bytes: &[u8]) -> Option<u16> {
        let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
    let mut place = 0;
    while let Some(found) = line[place..].iter().position(|byte| *byte == b'\\') {
        place += found;
        let number = escape(&line[place..]);
        match (number, number.and_then(|_| escape(&line[place + 6..]))) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => place += 12,
            (Some(0xd800..=0xdfff), _) => {
                line[place..place + 6].copy_from_slice(br"\ufffd");
                place += 6;
            }
            (Some(_), _) => place += 6,
            // An escaped backslash does not begin an escape.
            (None, _) => place = (place + 2).min(line.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(printed: &str, max_bytes: usize) -> String {
        let mut lines =
            ServerLines::new(printed.as_bytes(), max_bytes, Allowance::default(), ServerEnd::default());
        let mut text = String::new();
        lines.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn readable_lines_are_passed_on() {
        let fine = "{\"id\":1,\"result\":\"\\ud83d\\ude00 \\\\ud800\"}\nnot json\n\n";
        assert_eq!(read(fine, 1_000).await, fine);
        assert_eq!(read("{}", 1_000).await, "", "an incomplete line is not a message");
        let halves = r#"{"id":1,"result":"\ud83d x \ude00 \uD83D"}"#;
        let whole = r#"{"id":1,"result":"\ufffd x \ufffd \ufffd"}"#;
        assert_eq!(read(&format!("{halves}\n"), 1_000).await, format!("{whole}\n"));
    }

    #[tokio::test]
    async fn unreadable_answer_becomes_an_error() {
        let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{}\"}}\n{{}}\n", "x".repeat(2_000));
        let expected = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"its answer has more than 1000 bytes"}}"#;
        assert_eq!(read(&long, 1_000).await, format!("{expected}\n{{}}\n"));
        let broken = read("{\"id\": \"a\", \"result\": nope}\n", 1_000).await;
        assert!(broken.contains("\"id\":\"a\"") && broken.contains("its answer is not JSON"), "{broken}");
        // Requests of the server, and lines without an id, have no caller to report to.
        let question = format!("{{\"id\":1,\"method\":\"{}\"}}\n", "x".repeat(2_000));
        assert_eq!(read(&question, 1_000).await, "");
        assert_eq!(read(&"x".repeat(2_000), 1_000).await, "");
    }
}
