//! A small disk that can be filled: a file system in memory that only its own mount namespace has. A process of ours keeps the
//! namespace, so that the disk stays while the gateway on it is killed, and is gone when we are.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::fs::FallocateFlags;
use tempfile::TempDir;

/// Mounts the disk, says so, lives until nobody holds its input, and leaves nothing. Signals for us are not for it.
const SCRIPT: &str = "
trap '' HUP INT TERM
mount -t tmpfs -o size=\"$2\",mode=0700 foreword-torture \"$1\" || exit 1
echo mounted
cat
umount -l \"$1\"
rmdir \"$1\"
";
/// What a gateway that saves without a pause writes is far less.
const BYTES_A_SECOND: u64 = 3 << 20;
const LEAST_BYTES: u64 = 64 << 20;

/// How a namespace is made and entered: as root, and as somebody who is root only there.
const WAYS: &[(&[&str], &[&str])] = &[
    (&["--mount"], &["--mount"]),
    (&["--user", "--map-root-user", "--mount"], &["--user", "--preserve-credentials", "--mount"]),
];

pub(crate) struct SmallDisk {
    directory: TempDir,
    holder: Child,
    flags: &'static [&'static str],
}

impl SmallDisk {
    /// A disk that is large enough for a run of so long. The error says why there is none.
    pub(crate) fn make(time: Duration) -> anyhow::Result<Self> {
        let bytes = LEAST_BYTES + BYTES_A_SECOND * time.as_secs();
        let mut reasons = Vec::new();
        for (make, enter) in WAYS {
            match Self::make_by(make, enter, bytes) {
                Ok(disk) => return Ok(disk),
                Err(error) => reasons.push(format!("{error:#}")),
            }
        }
        bail!("no small disk can be made here: {}", reasons.join("; "))
    }

    fn make_by(make: &[&str], enter: &'static [&'static str], bytes: u64) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("foreword-disk-").tempdir()?;
        let mut command = Command::new("unshare");
        command.args(make).args(["sh", "-c", SCRIPT, "sh"]).arg(directory.path()).arg(bytes.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut holder = command.spawn().context("cannot run unshare")?;
        let mut said = String::new();
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let disk = Self { directory, holder, flags: enter };
        if said == "mounted\n" { Ok(disk) } else { bail!(disk.failure()) }
    }

    /// What its process said when it could not mount.
    fn failure(mut self) -> String {
        let mut said = String::new();
        if let Some(mut output) = self.holder.stderr.take() {
            let _ = io::Read::read_to_string(&mut output, &mut said);
        }
        said.trim().to_owned()
    }

    /// The command through which a gateway is started so that it has the disk.
    pub(crate) fn enter(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec!["nsenter".into(), "--target".into(), self.holder.id().to_string().into()];
        words.extend(self.flags.iter().map(OsString::from));
        words.push("--".into());
        words
    }

    /// The database's address for a gateway that has the disk.
    pub(crate) fn database(&self) -> OsString {
        let mut url = OsString::from("sqlite://");
        url.push(self.directory.path().join("foreword.db"));
        url
    }

    /// Takes what is free, and then writes until nothing more fits: the gateway writes meanwhile.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut ballast = fs::File::create(self.ballast()).context("cannot write on the small disk")?;
        let disk = rustix::fs::fstatvfs(&ballast)?;
        // Taking it page by page would take seconds; where that is not known, or too much was asked for, it does.
        let _ = rustix::fs::fallocate(&ballast, FallocateFlags::empty(), 0, disk.f_bavail * disk.f_frsize);
        ballast.seek(io::SeekFrom::End(0))?;
        let page = vec![1_u8; 4 << 10];
        loop {
            match ballast.write(&page) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error).context("cannot fill the small disk"),
            }
        }
    }

    /// Makes room again.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        fs::remove_file(self.ballast()).context("cannot make room on the small disk")
    }

    /// The ballast, as it is seen from outside.
    fn ballast(&self) -> PathBuf {
        let inside = self.directory.path().join("ballast");
        let inside = inside.strip_prefix("/").unwrap_or(&inside);
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(inside)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Its process ends with its input.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
