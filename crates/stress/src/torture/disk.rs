//! A small disk that can be filled: a tmpfs in a private mount namespace. A child process holds the namespace open, so
//! the disk survives the gateway being killed and disappears together with this process.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::fs::FallocateFlags;
use tempfile::TempDir;

/// Mounts the disk, reports success, waits for the end of its input, and cleans up. Ignores signals meant for us.
const SCRIPT: &str = "
trap '' HUP INT TERM
mount -t tmpfs -o size=\"$2\",mode=0700 foreword-torture \"$1\" || exit 1
echo mounted
cat
umount -l \"$1\"
rmdir \"$1\"
";
/// Upper bound for what a gateway under constant saves writes per second.
// The disk must be full only while the ballast is on it. If it filled up with saves, the run would never recover.
const BYTES_A_SECOND: u64 = 3 << 20;
const LEAST_BYTES: u64 = 64 << 20;

/// Arguments to create and enter a namespace: as root, and as an unprivileged user in a user namespace.
// Containers that run as root often forbid user namespaces, while a developer needs one to mount anything.
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
    /// Creates a disk large enough for a run of this duration. The error lists why each way failed.
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
        // Its own group, so that Ctrl-C does not interrupt it: it has to unmount the disk after this process has ended.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut holder = command.spawn().context("cannot run unshare")?;
        let mut said = String::new();
        // The line is the sign that the disk is mounted. Without waiting for it, a gateway could put its database into
        // the directory below the mount point.
        if let Some(output) = holder.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let disk = Self { directory, holder, flags: enter };
        if said == "mounted\n" { Ok(disk) } else { bail!(disk.failure()) }
    }

    /// Returns the error output of the helper process.
    fn failure(mut self) -> String {
        let mut said = String::new();
        if let Some(mut output) = self.holder.stderr.take() {
            let _ = io::Read::read_to_string(&mut output, &mut said);
        }
        said.trim().to_owned()
    }

    /// Returns the command prefix that starts a gateway in the namespace.
    pub(crate) fn enter(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec!["nsenter".into(), "--target".into(), self.holder.id().to_string().into()];
        words.extend(self.flags.iter().map(OsString::from));
        words.push("--".into());
        words
    }

    /// Returns the database's address inside the namespace.
    pub(crate) fn database(&self) -> OsString {
        let mut url = OsString::from("sqlite://");
        url.push(self.directory.path().join("foreword.db"));
        url
    }

    /// Fills the disk: reserves the free space, then writes until nothing fits, because the gateway keeps writing
    /// meanwhile.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut ballast = fs::File::create(self.ballast()).context("cannot write on the small disk")?;
        let disk = rustix::fs::fstatvfs(&ballast)?;
        // Fast path: writing page by page takes seconds. If this is not supported, the loop below does all the work.
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

    /// Frees the space again.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        fs::remove_file(self.ballast()).context("cannot make room on the small disk")
    }

    /// Returns the path of the ballast file as seen from outside the namespace.
    fn ballast(&self) -> PathBuf {
        let inside = self.directory.path().join("ballast");
        // The mount exists only in the namespace, but `/proc` shows it to us without entering it.
        let inside = inside.strip_prefix("/").unwrap_or(&inside);
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(inside)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The helper ends when its input is closed.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
