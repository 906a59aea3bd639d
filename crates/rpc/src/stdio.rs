//! Line-delimited messages, as used by editors and other parent processes.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use crate::endpoint::{CLOSING_TIME, Next, Progress};
use crate::{ConnectionLimits, Endpoint, Frame, Inbound, Outgoing, error};

/// Size of one write. A parent process that accepts this much counts as reading.
const WRITE_BYTES: usize = 64 * 1024;

/// Returns an endpoint over a pair of byte streams.
///
/// The returned handle completes when the connection is closed and everything queued was written, or abandoned because
/// the parent does not read.
pub fn endpoint(
    reader: impl AsyncRead + Send + Unpin + 'static,
    mut writer: impl AsyncWrite + Send + Unpin + 'static,
    limits: &ConnectionLimits,
) -> (Endpoint, tokio::task::JoinHandle<()>) {
    let (outgoing, mut queue) = Outgoing::new(limits);
    // Holds a single message, so a parent that sends faster than it is served is slowed down by its own pipe instead of
    // filling this process's memory.
    let (sender, incoming) = mpsc::channel(1);
    let limit = limits.message_bytes;
    let reading = outgoing.clone();
    tokio::spawn(async move {
        let mut reader = BufReader::new(reader);
        while let Ok(Some(inbound)) = read_line(&mut reader, limit).await {
            if sender.send(inbound).await.is_err() {
                break;
            }
        }
        reading.leave();
    });
    let written = tokio::spawn(async move {
        let progress = queue.progress();
        while let Next::Send(queued) = queue.next().await {
            let written = tokio::select! {
                written = write_line(&mut writer, queued.frame.as_str(), &progress) => written.is_ok(),
                () = queue.overdue(CLOSING_TIME) => false,
            };
            if !written {
                break;
            }
        }
    });
    (Endpoint { incoming, outgoing }, written)
}

async fn write_line(
    writer: &mut (impl AsyncWrite + Unpin),
    line: &str,
    progress: &Progress,
) -> std::io::Result<()> {
    for part in line.as_bytes().chunks(WRITE_BYTES).chain([&b"\n"[..]]) {
        writer.write_all(part).await?;
        writer.flush().await?;
        progress.made();
    }
    Ok(())
}

/// Reads the next line that is not blank; `None` at the end. An oversized line is skipped without being kept in memory.
async fn read_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
) -> Result<Option<Inbound>, std::io::Error> {
    loop {
        let mut line = Vec::new();
        let mut length = 0;
        let ended = loop {
            let available = reader.fill_buf().await?;
            if available.is_empty() {
                break true;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            length += part.len();
            if length <= limit {
                line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(end.is_some());
            reader.consume(consumed);
            if end.is_some() {
                break false;
            }
        };
        if length > limit {
            return Ok(Some(Inbound::Refused(error::too_large(limit, length))));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            if ended {
                return Ok(None);
            }
            continue;
        }
        return Ok(Some(match String::from_utf8(line) {
            Ok(text) => Inbound::Text(Frame::from(text)),
            Err(_) => Inbound::Refused(error::not_json("the line is not UTF-8")),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Models a parent process that sends a request and never reads.
    #[tokio::test(start_paused = true)]
    async fn shutdown_does_not_wait_for_a_parent_that_never_reads() {
        let (far, near) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(near);
        let (mut endpoint, written) = endpoint(reader, writer, &ConnectionLimits::default());
        assert!(endpoint.outgoing.send(Frame::from("x".repeat(100 * 1024))).await);
        assert!(!endpoint.outgoing.has_left());
        // The parent closes its writing end but keeps its reading end open.
        let (_unread, mut input) = tokio::io::split(far);
        input.shutdown().await.unwrap();
        assert!(endpoint.incoming.recv().await.is_none());
        assert!(endpoint.outgoing.has_left(), "what waits for it can be withdrawn");
        endpoint.outgoing.close(crate::CloseReason::Finished);
        tokio::time::timeout(CLOSING_TIME * 5, written).await.expect("given up").unwrap();
    }

    /// Every part is read within the time limit, but the whole message is not.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_receives_everything() {
        let (mut far, near) = tokio::io::duplex(WRITE_BYTES);
        let (reader, writer) = tokio::io::split(near);
        let (endpoint, written) = endpoint(reader, writer, &ConnectionLimits::default());
        let text = "x".repeat(WRITE_BYTES * 10);
        assert!(endpoint.outgoing.send(Frame::from(text.clone())).await);
        endpoint.outgoing.close(crate::CloseReason::Finished);
        let mut got = Vec::new();
        while got.len() < text.len() + 1 {
            tokio::time::sleep(CLOSING_TIME / 2).await;
            let mut part = vec![0; WRITE_BYTES];
            let bytes = tokio::io::AsyncReadExt::read(&mut far, &mut part).await.unwrap();
            assert!(bytes > 0, "cut off after {} bytes", got.len());
            got.extend_from_slice(&part[..bytes]);
        }
        written.await.unwrap();
    }

    #[tokio::test]
    async fn lines_are_bounded_and_checked() {
        let input = b"\n{\"a\":1}\r\n\n0123456789abcdef\n\xff\xfe\nlast";
        let mut reader = BufReader::new(&input[..]);
        let mut seen = Vec::new();
        while let Some(inbound) = read_line(&mut reader, 10).await.unwrap() {
            seen.push(match inbound {
                Inbound::Text(frame) => frame.as_str().trim().to_owned(),
                Inbound::Refused(error) | Inbound::Fatal(error, _) => error.code.to_string(),
            });
        }
        assert_eq!(seen, ["{\"a\":1}", "-32013", "-32700", "last"]);
    }
}
