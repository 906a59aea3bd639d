//! A session over two streams, one message a line. Calls are answered in their order.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::Offer;
use super::session::{INVALID_REQUEST, PARSE_ERROR, Session, failure};

/// Longest message that is read.
const MAX_MESSAGE_BYTES: u64 = 8 * 1024 * 1024;
/// Most resources that one client can follow.
const MAX_FOLLOWED: usize = 64;

/// Serves one client until it closes its stream. Resources that it follows are looked at this often.
pub fn serve(
    offer: &dyn Offer,
    version: &str,
    look_every: Duration,
    mut input: impl BufRead,
    output: impl Write + Send,
) -> io::Result<()> {
    let session = Session::new(MAX_FOLLOWED);
    let output = Mutex::new(output);
    let send = |message: &Value| {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(format!("{message}\n").as_bytes())?;
        output.flush()
    };
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let end = end;
            while end.recv_timeout(look_every) == Err(RecvTimeoutError::Timeout) {
                // Who does not listen any more is found out by the one who reads.
                let _ = session.changes(offer).iter().try_for_each(send);
            }
        });
        // Dropped when the client has gone, which ends the other thread.
        let _ended = ended;
        loop {
            let mut line = Vec::new();
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
                Ok(sent) => session.answer(offer, version, sent).iter().try_for_each(send)?,
                Err(error) => send(&failure(Value::Null, PARSE_ERROR, &error.to_string()))?,
            }
        }
    })
}

/// Reads on to the end of a line, and keeps nothing of it.
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
