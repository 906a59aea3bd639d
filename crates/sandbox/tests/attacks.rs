//! Attacks on the sandbox, each tried at both levels. Attacks that a level does not prevent are expected, too, so that
//! SECURITY.md, which shows this table, promises no more than is true.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::Duration;

use sandbox::SandboxLevel;
use test_sandbox::OTHER_USER;

use crate::trial::Trial;

/// Output of a successful attack.
const THROUGH: &str = "got through";

/// An attack, and the levels that prevent it.
pub(crate) struct Attack {
    /// Name of the test.
    pub(crate) name: &'static str,
    /// Description for SECURITY.md.
    pub(crate) shown: &'static str,
    pub(crate) isolated: Holds,
    pub(crate) confined: Holds,
    /// Python script of the attack. It raises or prints nothing if the attack fails.
    script: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Yes,
    No,
}

use Holds::{No, Yes};

macro_rules! attacks {
    ($($name:ident: $shown:literal, isolated $isolated:ident, confined $confined:ident, $script:expr;)*) => {
        pub(crate) const ATTACKS: &[Attack] = &[$(Attack {
            name: stringify!($name),
            shown: $shown,
            isolated: $isolated,
            confined: $confined,
            script: $script,
        },)*];

        $(#[test]
        fn $name() {
            attempt(stringify!($name));
        })*
    };
}

attacks! {
    tcp_to_the_machine: "TCP to a server on the machine's loopback", isolated Yes, confined Yes,
        "socket.create_connection(('127.0.0.1', int(E['TCP'])), 2).send(b'x')\nthrough()";
    tcp_fast_open: "the same by TCP Fast Open, which needs no `connect`", isolated Yes, confined Yes,
        "s = socket.socket()\ns.sendto(b'x', 0x20000000, ('127.0.0.1', int(E['TCP'])))\nthrough()";
    udp_to_the_machine: "UDP to a server on the machine's loopback", isolated Yes, confined Yes,
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('127.0.0.1', int(E['UDP'])))";
    unix_socket: "a Unix socket in the file system, such as Docker's or D-Bus's", isolated Yes, confined Yes,
        "s = socket.socket(socket.AF_UNIX)\ns.connect(E['STREAM'])\nthrough()";
    unix_socket_in_the_workspace: "a Unix socket in the workspace, of a server outside", isolated Yes, confined Yes,
        "s = socket.socket(socket.AF_UNIX)\ns.connect('socket')\nthrough()";
    datagram_pair: "a pair of datagram sockets, one pointed at a path afterwards", isolated Yes, confined Yes,
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'x', 'datagrams')";
    raw_pair: "the same with `SOCK_RAW`, which is a datagram socket by another name", isolated Yes, confined Yes,
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)\na.sendto(b'x', 'datagrams')";
    abstract_socket: "an abstract Unix socket", isolated Yes, confined Yes,
        "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + E['ABSTRACT'])\nthrough()";
    vsock: "a socket to the host of a virtual machine", isolated Yes, confined Yes,
        "socket.socket(40, socket.SOCK_STREAM)\nthrough()";
    reading_outside: "reading a file outside the workspace", isolated Yes, confined Yes,
        "open(E['OUTSIDE']).read()\nthrough()";
    writing_outside: "writing a file outside the workspace", isolated Yes, confined Yes,
        "open(E['OUTSIDE'], 'w').write('written')";
    reading_through_a_link: "reading outside through a link in the workspace", isolated Yes, confined Yes,
        "os.symlink(E['OUTSIDE'], 'link')\nopen('link').read()\nthrough()";
    chmod_outside: "changing the mode of a file outside", isolated Yes, confined No,
        "os.chmod(E['OUTSIDE'], 0o777)";
    utime_outside: "changing the times of a file outside", isolated Yes, confined No,
        "os.utime(E['OUTSIDE'], (1, 1))";
    stat_outside: "learning size and times of a file outside", isolated Yes, confined No,
        "os.stat(E['OUTSIDE'])\nthrough()";
    processes_of_others: "reading the environment of the gateway", isolated Yes, confined Yes,
        "open('/proc/%s/environ' % E['GATEWAY']).read()\nthrough()";
    signals_to_others: "ending processes outside", isolated Yes, confined Yes,
        "os.kill(int(E['GATEWAY']), 0)\nthrough()";
    limiting_others: "limiting the size of files of the gateway, so that its next write ends it", isolated Yes, confined Yes,
        "l = (ctypes.c_ulong * 2)(1 << 20, 1 << 20)\ncheck(libc.prlimit(int(E['GATEWAY']), 1, l, None))";
    slowing_others: "lowering the priority of the gateway", isolated Yes, confined Yes,
        "os.setpriority(os.PRIO_PROCESS, int(E['GATEWAY']), 19)\nthrough()";
    moving_others: "binding the gateway to one processor", isolated Yes, confined Yes,
        "os.sched_setaffinity(int(E['GATEWAY']), {min(os.sched_getaffinity(0))})\nthrough()";
    rescheduling_others: "giving the gateway the idle class of the scheduler", isolated Yes, confined Yes,
        "os.sched_setscheduler(int(E['GATEWAY']), os.SCHED_IDLE, os.sched_param(0))\nthrough()";
    slowing_reads_of_others: "giving the gateway the idle class of the disk", isolated Yes, confined Yes,
        "check(libc.syscall(251 if x86 else 30, 1, int(E['GATEWAY']), 3 << 13))";
    memory_of_others: "reading the memory of the gateway", isolated Yes, confined Yes,
        "p = E['GATEWAY']\na = 4096\n\
         try: a = int(open('/proc/%s/maps' % p).readline().split('-')[0], 16)\nexcept OSError: pass\n\
         b = ctypes.create_string_buffer(8)\nl = (ctypes.c_ulong * 2)(ctypes.addressof(b), 8)\nr = (ctypes.c_ulong * 2)(a, 8)\n\
         check(libc.syscall(310 if x86 else 270, int(p), l, 1, r, 1, 0))";
    attributes_outside: "setting an extended attribute of a file outside", isolated Yes, confined Yes,
        "os.setxattr(E['OUTSIDE'], 'user.evil', b'x')\nthrough()";
    setuid_program: "leaving a program that other users run as the gateway's user", isolated Yes, confined Yes,
        "open('program', 'w').close()\ntry: os.chmod('program', 0o4755)\nexcept OSError: pass\n\
         try: os.close(os.open('other', os.O_CREAT | os.O_WRONLY, 0o4755))\nexcept OSError: pass\n\
         f = [n for n in ('program', 'other') if os.path.exists(n)]\n\
         if any(os.stat(n).st_mode & stat.S_ISUID for n in f): through()";
    kernel_settings: "writing the kernel's settings in `/proc/sys`", isolated Yes, confined Yes,
        "p = '/proc/sys/kernel/core_pattern'\nt = open(p).read()\nopen(p, 'w').write(t)\nthrough()";
    user_namespace: "a new user namespace, in which one is root", isolated Yes, confined Yes,
        "check(libc.unshare(0x10000000))";
    user_namespace_by_clone: "the same by `clone`", isolated Yes, confined Yes,
        "r = libc.syscall(56 if x86 else 220, 0x10000000 | 17, 0, 0, 0, 0)\nif r == 0: os._exit(0)\ncheck(r)";
    io_uring: "io_uring, which no filter of system calls sees into", isolated Yes, confined Yes,
        "check(libc.syscall(425, 8, ctypes.create_string_buffer(256)))";
    keyring: "the keys of the user's session", isolated Yes, confined Yes,
        "check(libc.syscall(250 if x86 else 219, 0, -4, 1))";
    bpf: "loading programs into the kernel", isolated Yes, confined Yes,
        "a = ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1), 128)\n\
         check(libc.syscall(321 if x86 else 280, 0, a, 128))";
    shared_memory: "System V shared memory of other programs", isolated Yes, confined No,
        "check(libc.shmget(int(E['SHARED']), 0, 0))";
    unfiltered_process: "acting through a process that no filter holds", isolated Yes, confined Yes,
        "def bare(p):\n  s = open('/proc/%s/status' % p).read()\n\
         \u{20} return 'Seccomp:\\t0\\n' in s and 'Uid:\\t%d\\t' % os.getuid() in s\n\
         for p in os.listdir('/proc'):\n  if p.isdigit() and bare(p) and libc.ptrace(16, int(p), 0, 0) == 0:\n\
         \u{20}   os.waitpid(int(p), 0x40000000)\n    libc.ptrace(17, int(p), 0, 0)\n    through()";
    device: "making a device", isolated Yes, confined Yes,
        "os.mknod('device', 0o666 | stat.S_IFBLK, os.makedev(8, 0))\nthrough()";
    too_many_processes: "a fork bomb", isolated Yes, confined Yes,
        "n = 0\ntry:\n  while n < 600:\n    if os.fork() == 0: time.sleep(60)\n    n += 1\n\
         except OSError: os._exit(0)\nthrough()";
    too_large_file: "a file that fills the disk", isolated Yes, confined Yes,
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('large', 'wb')\nf.truncate(2 << 20)\nthrough()";
    too_much_memory: "a process that takes all memory", isolated Yes, confined Yes,
        "bytearray(1 << 30)\nthrough()";
    too_much_shared_memory: "a process that takes all memory, in mappings that it shares", isolated No, confined No,
        "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor n in range(0, 1 << 30, 1 << 20): m[n] = 1\nthrough()";
    too_much_memory_together: "processes that together take all memory", isolated No, confined No,
        "for n in range(3):\n  if os.fork() == 0:\n    b = bytearray(300 << 20)\n    os._exit(0)\n\
         if all(os.wait()[1] == 0 for n in range(3)): through()";
    too_many_temporary_files: "temporary files that fill the memory or the disk", isolated Yes, confined No,
        "for n in range(32): open(E['TMPDIR'] + '/%d' % n, 'wb').write(bytes(1 << 20))\nthrough()";
    reading_the_data_directory: "reading the gateway's data inside the workspace", isolated Yes, confined Yes,
        "open('data/owner.token').read()\nthrough()";
    moving_the_data_directory: "moving a directory above it, for the next command to read", isolated Yes, confined Yes,
        "os.rename('above', 'aside')\nopen('aside/data/owner.token').read()\nthrough()";
    reading_a_private_file: "reading a key or a database that is a file in the workspace", isolated Yes, confined Yes,
        "open('private.key').read()\nthrough()";
    moving_a_private_file: "giving it another name", isolated Yes, confined Yes,
        "os.rename('private.key', 'aside')\nopen('aside').read()\nthrough()";
    writing_instructions: "writing AGENTS.md", isolated Yes, confined No,
        "open('sub/AGENTS.md', 'w').write('evil')\nthrough()";
    replacing_instructions: "putting another file in the place of AGENTS.md", isolated Yes, confined No,
        "open('new', 'w').write('evil')\nos.rename('new', 'sub/AGENTS.md')\nthrough()";
    moving_instructions: "moving the directory of an AGENTS.md", isolated Yes, confined No,
        "os.rename('sub', 'aside')\nthrough()";
    writing_a_hook: "writing a git hook", isolated Yes, confined No,
        "open('.git/hooks/pre-commit', 'w').write('evil')\nthrough()";
    moving_the_repository: "moving `.git` and making another", isolated Yes, confined No,
        "os.rename('.git', 'aside')\nthrough()";
}

/// Beginning of every script.
const PRELUDE: &str = "import ctypes, os, signal, socket, stat, struct, sys, time, platform\n\
    E = os.environ\nx86 = platform.machine() == 'x86_64'\nlibc = ctypes.CDLL(None, use_errno=True)\n\
    def through(): print('got through', flush=True)\n\
    def check(r):\n  if r < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n  through()\n\
    sys.excepthook = lambda kind, error, trace: print(kind.__name__, error)\n";

/// Tries an attack at both levels.
#[track_caller]
fn attempt(name: &str) {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).unwrap();
    for (level, holds) in
        [(SandboxLevel::Isolated, attack.isolated), (SandboxLevel::Confined, attack.confined)]
    {
        let (got_through, said) = got_through(attack, level, OTHER_USER);
        assert_eq!(got_through, holds == No, "{name} at `{}`: {said}", level.name());
    }
}

/// Returns true if an attack succeeds, as seen from inside or outside.
fn got_through(attack: &Attack, level: SandboxLevel, user: u32) -> (bool, String) {
    let mut trial = Trial::new();
    trial.user = user;
    trial.limits.time = Duration::from_secs(20);
    // Small limits, so that the attacks on resources reach them within seconds and do not endanger the machine if one
    // fails to hold.
    trial.limits.file_bytes = 1 << 20;
    trial.limits.memory_bytes = 512 << 20;
    trial.limits.temporary_bytes = 16 << 20;
    for (file, text) in
        [("root/sub/AGENTS.md", "rules"), ("root/.git/config", "x"), ("root/.git/hooks/x", "")]
    {
        trial.write(file, text);
    }
    trial.protected = vec![trial.root("sub/AGENTS.md"), trial.root(".git")];
    match attack.name {
        "reading_the_data_directory" => trial.hidden = vec![trial.root("data")],
        "moving_the_data_directory" => trial.hidden = vec![trial.root("above/data")],
        "reading_a_private_file" | "moving_a_private_file" => trial.hidden = vec![trial.root("private.key")],
        _ => {}
    }
    trial.write("root/data/owner.token", "secret");
    trial.write("root/above/data/owner.token", "secret");
    trial.write("root/private.key", "secret");
    // Servers outside, reachable by anyone.
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("foreword-trial-{}-{}-{}", std::process::id(), attack.name, level.name());
    let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&abstract_address).unwrap();
    let _streams = [trial.path("stream"), trial.root("socket")].map(|path| {
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        listener
    });
    let datagrams = UnixDatagram::bind(trial.root("datagrams")).unwrap();
    fs::set_permissions(trial.root("datagrams"), fs::Permissions::from_mode(0o777)).unwrap();
    for socket in [udp.set_nonblocking(true), datagrams.set_nonblocking(true)] {
        socket.unwrap();
    }
    trial.set("TCP", tcp.local_addr().unwrap().port().to_string());
    trial.set("UDP", udp.local_addr().unwrap().port().to_string());
    trial.set("STREAM", trial.path("stream"));
    trial.set("ABSTRACT", name);
    trial.set("OUTSIDE", trial.path("outside"));
    // A process of the same user, like the gateway.
    let gateway = trial.begin_outside();
    trial.set("GATEWAY", gateway.id().to_string());
    let shared = trial.make_shared_memory();
    trial.set("SHARED", shared.key.clone());
    let before = fs::metadata(trial.path("outside")).unwrap();

    // The delimiter is quoted, so the shell expands nothing in the script and every level runs exactly the same attack.
    let text = format!("python3 - <<'SCRIPT'\n{PRELUDE}{}\nSCRIPT", attack.script);
    let said = match trial.try_run(&trial.request(level, &text)) {
        Ok(answer) => format!("{:?} {}", answer.report, answer.output),
        // A level that cannot enforce a request rejects it.
        Err(refused) => refused,
    };

    let after = fs::metadata(trial.path("outside")).unwrap();
    let is_changed = (before.mode(), before.mtime()) != (after.mode(), after.mtime())
        || fs::read_to_string(trial.path("outside")).unwrap() != "secret\n";
    let heard = udp.recv(&mut [0; 8]).is_ok() || datagrams.recv(&mut [0; 8]).is_ok();
    (said.contains(THROUGH) || is_changed || heard, said)
}

/// Attacks that need privileges of root, or a kernel that not every machine has.
const NEEDING_MORE: &[&str] =
    &["attributes_outside", "memory_of_others", "bpf", "device", "kernel_settings", "vsock"];
/// Output of such an attack on a machine that cannot perform it, with or without a sandbox.
const NOT_HERE: &[&str] = &[
    "PermissionError",
    "Address family not supported",
    "Function not implemented",
    "Read-only file system",
    "No such file or directory",
    "Operation not supported",
];

// Every script must succeed without a sandbox, so that none fails because of a mistake in the script.
#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what they did not show")]
#[test]
fn every_attack_succeeds_without_a_sandbox() {
    let mut not_shown = Vec::new();
    for attack in ATTACKS {
        let needs_more = NEEDING_MORE.contains(&attack.name);
        // The tests themselves may run as root.
        let user = if needs_more { 0 } else { OTHER_USER };
        let (got_through, said) = got_through(attack, SandboxLevel::Off, user);
        if needs_more && !got_through && NOT_HERE.iter().any(|reason| said.contains(reason)) {
            not_shown.push(format!("{} ({})", attack.name, said.trim()));
            continue;
        }
        assert!(got_through, "{}: {said}", attack.name);
    }
    eprintln!("not shown to work on this machine: {not_shown:?}");
}
