//! `read_file` streams lines of a text file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use instructions::{ContentHash, FileRead, Reminder};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::output::harmless;
use crate::call::trim::{Keep, trim};
use crate::files::blocking::{self, BlockingWork};
use crate::files::content::{BLOCK, binary_kind};
use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};

/// Reads lines of a text file.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadFile;

/// Bytes after the shown part in which lines are counted.
const MAX_COUNTED_BYTES: u64 = 64 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The file, absolute or relative to the working directory.
    path: PathBuf,
    /// The first line to read, counted from 1. Default: 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to read. Default: as many as fit.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "read_file",
            "Reads a text file, as it is: no line numbers are added. Long files are cut; read on with offset and limit.",
        )
    }

    fn needs(&self, arguments: &ToolArguments) -> Needs {
        arguments.text("path").map(Needs::read).unwrap_or_default()
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        blocking::run(context, &arguments, read).await
    }
}

fn read(
    context: &ToolContext,
    parameters: &Parameters,
    work: &BlockingWork,
) -> Result<ToolOutput, FileError> {
    let (file, stat) = context.find(&parameters.path)?.open_file()?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let mut lines =
        LineReader { file, path: &parameters.path, work, read: 0, begin: true, is_in_line: false, size };
    let first = parameters.offset.unwrap_or(1).max(1);
    let limit = parameters.limit.unwrap_or(u64::MAX);
    // A character has at most four bytes; four more allow for a split one.
    let max_chars = context.limits().output_chars;
    let taken = lines.take(first, limit, max_chars.saturating_mul(4).saturating_add(4))?;
    if taken.skipped < first - 1 || (first > 1 && taken.bytes.is_empty()) {
        // A last line without a line break counts.
        let there = match taken.skipped + u64::from(lines.is_in_line) {
            1 => "1 line".to_owned(),
            there => format!("{there} lines"),
        };
        let path = parameters.path.display();
        return Err(FileError::Other(format!("{path} has {there}; offset {first} is past its end")));
    }
    if taken.bytes.is_empty() {
        return Ok(ToolOutput::default().with_note("the file is empty"));
    }
    let whole_file = (first == 1 && taken.end == TakeEnd::File).then(|| FileRead {
        path: context.absolute(&parameters.path),
        sha256: ContentHash::of(&taken.bytes),
        version: None,
    });
    // The result counts as the whole file only if nothing was cut, because edits rely on that.
    let shown = show(&mut lines, taken, first, max_chars)?;
    let is_cut = shown.reminders.iter().any(|it| matches!(it, Reminder::ToolOutputTrimmed { .. }));
    Ok(ToolOutput { whole_file: whole_file.filter(|_| !is_cut), ..shown })
}

/// Cuts the lines to the limit, and reports what is missing.
fn show(
    lines: &mut LineReader<'_>,
    taken: TakenLines,
    first: u64,
    max_chars: usize,
) -> Result<ToolOutput, FileError> {
    let decoded = String::from_utf8_lossy(&taken.bytes);
    let invalid = matches!(decoded, std::borrow::Cow::Owned(_));
    let (text, note) = harmless(&decoded);
    let cut = trim(&text, max_chars, Keep::Start);
    let mut output = ToolOutput::text(cut.as_ref().map_or(&text, |cut| &cut.text));
    output.notes.extend(note);
    if invalid {
        output = output.with_note("bytes that are not UTF-8 are shown as \u{fffd}");
    }
    if cut.is_none() && taken.end != TakeEnd::Full {
        return Ok(output);
    }
    let whole = output.text.matches('\n').count();
    let kept = after_line(&taken.bytes, whole);
    let mut missing_lines = count(&taken.bytes[kept..]);
    let mut missing_bytes = (taken.bytes.len() - kept) as u64;
    let mut remedy = if output.text.ends_with('\n') {
        format!("Read on with offset {}.", first + whole as u64)
    } else {
        format!(
            "Line {} is longer than what can be shown at once; the lines after it are read with offset {}.",
            first + whole as u64,
            first + whole as u64 + 1
        )
    };
    if taken.end == TakeEnd::Full {
        let rest = lines.count_rest()?;
        missing_bytes += lines.size.saturating_sub(taken.until);
        missing_lines += rest.lines;
        if rest.more {
            remedy.push_str(" The lines of this large file were not counted to its end.");
        }
    }
    Ok(output.with_reminder(Reminder::ToolOutputTrimmed {
        removed_bytes: missing_bytes,
        removed_lines: missing_lines.max(1),
        remedy,
    }))
}

/// Returns the offset after `lines` lines.
fn after_line(bytes: &[u8], lines: usize) -> usize {
    match lines.checked_sub(1) {
        None => 0,
        Some(last) => {
            let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            ends.map(|(position, _)| position + 1).nth(last).unwrap_or(bytes.len())
        }
    }
}

fn count(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// A file read block by block.
struct LineReader<'a> {
    file: File,
    path: &'a Path,
    work: &'a BlockingWork,
    read: u64,
    begin: bool,
    /// True if the bytes read so far end inside a line.
    is_in_line: bool,
    size: u64,
}

/// Lines taken from a file.
struct TakenLines {
    bytes: Vec<u8>,
    /// Number of lines before them.
    skipped: u64,
    end: TakeEnd,
    /// Offset in the file after them.
    until: u64,
}

/// Reason why no more lines were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeEnd {
    File,
    Limit,
    Full,
}

struct RestOfFile {
    lines: u64,
    more: bool,
}

impl LineReader<'_> {
    /// Reads the next block. Returns 0 at the end.
    fn block(&mut self, buffer: &mut [u8]) -> Result<usize, FileError> {
        self.work.check()?;
        loop {
            match self.file.read(buffer) {
                Ok(length) => {
                    self.read += length as u64;
                    if let Some(last) = buffer[..length].last() {
                        self.is_in_line = *last != b'\n';
                    }
                    if std::mem::take(&mut self.begin) {
                        self.refuse_binary(&buffer[..length])?;
                    }
                    return Ok(length);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FileError::io(error, self.path)),
            }
        }
    }

    fn refuse_binary(&self, bytes: &[u8]) -> Result<(), FileError> {
        match binary_kind(bytes) {
            Some(kind) => Err(FileError::Binary { path: self.path.to_owned(), kind, size: self.size }),
            None => Ok(()),
        }
    }

    /// Takes at most `limit` lines and about `max_bytes` bytes, beginning with line `first`.
    fn take(&mut self, first: u64, limit: u64, max_bytes: usize) -> Result<TakenLines, FileError> {
        let mut buffer = vec![0; BLOCK];
        let mut taken = TakenLines { bytes: Vec::new(), skipped: 0, end: TakeEnd::File, until: 0 };
        let mut left = limit;
        loop {
            let length = self.block(&mut buffer)?;
            if length == 0 {
                // A last line without a line break counts.
                return Ok(taken);
            }
            let mut block = &buffer[..length];
            let to_skip = first - 1 - taken.skipped;
            if to_skip > 0 {
                let here = count(block).min(to_skip);
                taken.skipped += here;
                if here < to_skip {
                    continue;
                }
                block = &block[after_line(block, usize::try_from(here).unwrap_or(usize::MAX))..];
            }
            let wanted = usize::try_from(left).ok().filter(|left| count(block) >= *left as u64);
            let end = wanted.map_or(block.len(), |left| after_line(block, left));
            left = left.saturating_sub(count(&block[..end]));
            // The offset in the file at which the taken part of this block begins. Reading resumes from there if the
            // space is used up.
            let before = self.read - block.len() as u64;
            let room = max_bytes.saturating_sub(taken.bytes.len());
            let kept = &block[..end.min(room)];
            taken.bytes.extend_from_slice(kept);
            taken.until = before + kept.len() as u64;
            if kept.contains(&0) {
                let kind = "binary data after text";
                return Err(FileError::Binary { path: self.path.to_owned(), kind, size: self.size });
            }
            if end > room {
                taken.end = TakeEnd::Full;
                // The rest of the block is read again by `count_rest`.
                rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(taken.until))
                    .map_err(|errno| FileError::of(errno, self.path))?;
                return Ok(taken);
            }
            if left == 0 {
                taken.end = TakeEnd::Limit;
                return Ok(taken);
            }
        }
    }

    /// Counts the lines that are not shown, up to a limit.
    fn count_rest(&mut self) -> Result<RestOfFile, FileError> {
        let mut buffer = vec![0; BLOCK];
        let mut rest = RestOfFile { lines: 0, more: false };
        let mut counted = 0;
        loop {
            let length = self.block(&mut buffer)?;
            rest.lines += count(&buffer[..length]);
            counted += length as u64;
            if length == 0 {
                return Ok(rest);
            }
            // Counting the lines of a huge log would take longer than reading the part that was wanted. The answer then
            // notes that the count is incomplete.
            if counted >= MAX_COUNTED_BYTES {
                rest.more = true;
                return Ok(rest);
            }
        }
    }
}
