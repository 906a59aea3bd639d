//! System calls that a command cannot make: those that bypass the restrictions on files or widen access.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::helper::Network;

/// Calls that are rejected whatever their arguments.
const REFUSED: &[i64] = &[
    // A second interface for nearly every call, which filters do not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Interfaces of the kernel with a history of exploits.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Namespaces and mounts, in which the command would be root.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    // Opening files without a path bypasses every check of paths.
    libc::SYS_open_by_handle_at,
    // Memory, descriptors and placement of other processes of the user. Debuggers lose nothing: they use `ptrace`.
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // Control of the machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_acct,
];
/// Calls whose argument at this index is a process, which may only be the caller itself, given as zero. Another process of
/// the user, such as the gateway, would lose its file handles or its processor time.
const OWN_PROCESS_ONLY: &[(i64, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];
/// Calls whose first argument selects a set of processes, and the one value that means a single process.
const ONE_PROCESS_ONLY: &[(i64, i32)] =
    &[(libc::SYS_setpriority, PRIO_PROCESS), (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS)];
const PRIO_PROCESS: i32 = 0;
const IOPRIO_WHO_PROCESS: i32 = 1;
/// Changes of extended attributes, which Landlock does not restrict. They are reported as not supported, which programs that
/// copy files expect.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
];
/// Bit of a mode with which other users of the machine run a program as the gateway's user.
const SETUID: u64 = 0o4000;
/// Calls with a mode at this index.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
/// Calls with flags at this index, followed by a mode.
const OPENS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];
const FCHMODAT2: i64 = 452;
/// Numbers that `libc` does not have yet; newer calls have the same number on every architecture.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
/// Flags of `clone` that create a namespace: user, mount, process, network, IPC, host name, cgroup.
const NEW_NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];
/// Requests of `ioctl` that inject terminal input: `TIOCSTI` and `TIOCLINUX`.
const TYPING: &[u64] = &[0x5412, 0x541C];
/// Bit in the number of an x32 call, which the same kernel accepts.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// Calls with a different number in that interface.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: &[(i64, i64)] = &[(libc::SYS_ioctl, 514), (libc::SYS_kexec_load, 528)];

/// Rejects these calls for this thread and its children for good.
pub(crate) fn apply(network: Network) -> io::Result<()> {
    for filter in filters(network).map_err(io::Error::other)? {
        seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

fn filters(network: Network) -> Result<[BpfProgram; 3], seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Resolving host names and listing addresses uses netlink.
    let mut families = vec![libc::AF_NETLINK];
    if network == Network::Own {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let other_family = families.into_iter().map(|family| argument(0, SeccompCmpOp::Ne, number(family)));
    let other_family = other_family.collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(other_family)?]);
    // A socket pair of streams is a pipe. A datagram socket can be redirected to any path afterwards, and `SOCK_RAW` is one, too.
    let mut pairs = vec![one(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))?];
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        pairs.push(one(1, SeccompCmpOp::MaskedEq(0xf), number(kind))?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let typing = TYPING.iter().map(|request| one(1, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, typing.collect::<Result<_, _>>()?);
    let namespaces =
        NEW_NAMESPACES.iter().map(|flag| one(0, SeccompCmpOp::MaskedEq(number(*flag)), number(*flag)));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    let is_other = |index: u8| one(index, SeccompCmpOp::Ne, 0);
    for (call, index) in OWN_PROCESS_ONLY {
        rules.entry(*call).or_default().push(is_other(*index)?);
    }
    for (call, single) in ONE_PROCESS_ONLY {
        rules.entry(*call).or_default().push(one(0, SeccompCmpOp::Ne, number(*single))?);
    }
    for (call, index) in MODES {
        rules.entry(*call).or_default().push(one(*index, SeccompCmpOp::MaskedEq(SETUID), SETUID)?);
    }
    // The mode of these counts only for a new file; otherwise the register holds anything.
    for (call, flags) in OPENS {
        let creates = argument(*flags, SeccompCmpOp::MaskedEq(number(libc::O_CREAT)), number(libc::O_CREAT))?;
        let is_setuid = argument(*flags + 1, SeccompCmpOp::MaskedEq(SETUID), SETUID)?;
        rules.entry(*call).or_default().push(SeccompRule::new(vec![creates, is_setuid])?);
    }
    // The arguments are behind a pointer, which filters cannot read. Programs fall back to `clone` if it is missing.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())]);
    let attributes = ATTRIBUTES.iter().map(|call| (*call, Vec::new())).collect();
    Ok([
        compile(rules, libc::EPERM)?,
        compile(missing, libc::ENOSYS)?,
        compile(attributes, libc::EOPNOTSUPP)?,
    ])
}

fn compile(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    #[cfg(target_arch = "x86_64")]
    add_twins(&mut rules);
    let refusal = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Adds the same rules for the x32 interface.
#[cfg(target_arch = "x86_64")]
fn add_twins(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) {
    let others = OTHER_NUMBERS.iter();
    let others = others.filter_map(|(call, other)| Some((other | X32, rules.get(call)?.clone())));
    // Without these twins, a program could make every refused call through the other interface, whose numbers differ by
    // one bit.
    let twins = rules.iter().map(|(call, rules)| (call | X32, rules.clone()));
    let twins: Vec<_> = twins.chain(others).collect();
    rules.extend(twins);
}

fn one(index: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![argument(index, operator, value)?])
}

fn argument(
    index: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

fn number(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    // A kernel with the x32 interface accepts `TIOCSTI` under another number as well.
    #[test]
    fn x32_calls_with_other_numbers_are_rejected() {
        let mut rules = BTreeMap::from([
            (libc::SYS_ioctl, vec![one(1, SeccompCmpOp::Eq, TYPING[0]).unwrap()]),
            (libc::SYS_kexec_load, Vec::new()),
            (libc::SYS_mount, Vec::new()),
        ]);
        add_twins(&mut rules);
        for number in [514, 528, libc::SYS_ioctl, libc::SYS_kexec_load, libc::SYS_mount] {
            assert!(rules.contains_key(&(number | 0x4000_0000)), "{number}");
        }
        assert_eq!(rules[&(514 | 0x4000_0000)], rules[&libc::SYS_ioctl]);
    }
}
