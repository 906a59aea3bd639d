//! Contents of objects, from one `git cat-file` process.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use instructions::{Blob, Blobs, ObjectId};
use parking_lot::Mutex;

use crate::command::git;

/// Reads objects of a repository. The process starts with the first object.
#[derive(Debug)]
pub(crate) struct Objects {
    directory: PathBuf,
    process: Mutex<Option<CatFile>>,
}

#[derive(Debug)]
struct CatFile {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Objects {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, process: Mutex::new(None) }
    }
}

impl Blobs for Objects {
    fn read(&self, id: &ObjectId, max_bytes: u64) -> io::Result<Blob> {
        let mut process = self.process.lock();
        let mut cat_file = match process.take() {
            Some(running) => running,
            None => CatFile::start(&self.directory)?,
        };
        let blob = cat_file.read(id, max_bytes)?;
        // After an error the stream may be anywhere, so the process is only kept after an answer.
        *process = Some(cat_file);
        blob
    }
}

impl CatFile {
    fn start(directory: &std::path::Path) -> io::Result<Self> {
        let mut command = git(directory);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let closed = || io::Error::other("git did not start");
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().ok_or_else(closed)?);
        Ok(Self { child, requests, answers })
    }

    /// Reads an object. The outer error means that the process can no longer be used.
    fn read(&mut self, id: &ObjectId, max_bytes: u64) -> io::Result<io::Result<Blob>> {
        let requests = self.requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(requests, "{}", id.as_str())?;
        requests.flush()?;
        let mut header = String::new();
        self.answers.read_line(&mut header)?;
        let mut words = header.split_whitespace();
        let (_, kind, size) = (words.next(), words.next(), words.next());
        let size = match (kind, size.and_then(|size| size.parse::<u64>().ok())) {
            (Some("missing"), _) => {
                let message = format!("the repository lacks the object {}", id.as_str());
                return Ok(Err(io::Error::new(io::ErrorKind::NotFound, message)));
            }
            (Some(_), Some(size)) => size,
            _ => return Err(io::Error::other(format!("git could not read the object {}", id.as_str()))),
        };
        let mut bytes = Vec::new();
        (&mut self.answers).take(size.min(max_bytes)).read_to_end(&mut bytes)?;
        // The rest of the object and the line break after it.
        let rest = size - bytes.len() as u64 + 1;
        let skipped = io::copy(&mut (&mut self.answers).take(rest), &mut io::sink())?;
        if skipped != rest {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Ok(Blob { size, bytes }))
    }
}

impl Drop for CatFile {
    fn drop(&mut self) {
        // The process ends when its input does. It may still be writing an object that nobody reads.
        drop(self.requests.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
