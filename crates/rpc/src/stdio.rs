//! One message a line, as editors and other parent processes speak.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use crate::endpoint::Next;
use crate::{ConnectionLimits, Endpoint, Error, Frame, Inbound, Outgoing};

/// An endpoint over a pair of byte streams.
///
/// The returned handle ends when everything queued was written after the last [`Outgoing`] was dropped.
pub fn endpoint(
    reader: impl AsyncRead + Send + Unpin + 'static,
    mut writer: impl AsyncWrite + Send + Unpin + 'static,
    limits: &ConnectionLimits,
) -> (Endpoint, tokio::task::JoinHandle<()>) {
    let (outgoing, mut queue) = Outgoing::new(limits);
    let (sender, incoming) = mpsc::channel(1);
    let limit = limits.message_bytes;
    tokio::spawn(async move {
        let mut reader = BufReader::new(reader);
        while let Ok(Some(inbound)) = read_line(&mut reader, limit).await {
            if sender.send(inbound).await.is_err() {
                break;
            }
        }
    });
    let written = tokio::spawn(async move {
        while let Next::Send(queued) = queue.next().await {
            let write = async {
                writer.write_all(queued.frame.as_str().as_bytes()).await?;
                writer.write_all(b"\n").await?;
                writer.flush().await
            };
            let written = tokio::select! {
                written = write => written.is_ok(),
                () = queue.slow() => false,
            };
            if !written {
                break;
            }
        }
    });
    (Endpoint { incoming, outgoing }, written)
}

/// The next line that is not blank; `None` at the end. A line over the limit is read past, not kept.
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
            return Ok(Some(Inbound::Refused(Error::too_large(limit, length))));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            if ended {
                return Ok(None);
            }
            continue;
        }
        return Ok(Some(match String::from_utf8(line) {
            Ok(text) => Inbound::Text(Frame::from(text)),
            Err(_) => Inbound::Refused(Error::parse("the line is not UTF-8")),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
