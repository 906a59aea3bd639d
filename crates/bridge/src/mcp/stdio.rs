//! A session over two streams, one message per line. Calls are answered in order.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::McpCatalog;
use super::session::{INVALID_REQUEST, PARSE_ERROR, Session, failure};

/// Maximum size of a message.
const MAX_MESSAGE_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum number of resources a client can subscribe to.
const MAX_FOLLOWED: usize = 64;

/// Serves one client until it closes its stream, checking subscribed resources every `look_every`.
pub fn serve(
    catalog: &dyn McpCatalog,
    version: &str,
    look_every: Duration,
    mut input: impl BufRead,
    output: impl Write + Send,
) -> io::Result<()> {
    let session = Session::new(MAX_FOLLOWED);
    let output = Mutex::new(output);
    let send = |message: &Value| {
        let mut output = output.lock();
        output.write_all(format!("{message}\n").as_bytes())?;
        output.flush()
    };
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let end = end;
            while end.recv_timeout(look_every) == Err(RecvTimeoutError::Timeout) {
                // A failed write means that the client is gone, which the reading loop below notices and reports.
                let _ = session.changes(catalog).iter().try_for_each(send);
            }
        });
        // Dropping the sender when the client has gone ends the notification thread.
        let _ended = ended;
        loop {
            let mut line = Vec::new();
            // Limited while reading, because a line without an end would otherwise fill the memory before its length is
            // known.
            if (&mut input).take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.len() as u64 >= MAX_MESSAGE_BYTES && !line.ends_with(b"\n") {
                skip_line(&mut input)?;
                let message = format!("the message has more than {MAX_MESSAGE_BYTES} bytes");
                send(&failure(Value::Null, INVALID_REQUEST, &message))?;
                continue;
            }
            match serde_json::from_slice::<Value>(&line) {
                Ok(sent) => session.answer(catalog, version, sent).iter().try_for_each(send)?,
                Err(error) => send(&failure(Value::Null, PARSE_ERROR, &error.to_string()))?,
            }
        }
    })
}

/// Skips the rest of a line without keeping it in memory.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (length, is_end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(length);
        if is_end {
            return Ok(());
        }
    }
}
