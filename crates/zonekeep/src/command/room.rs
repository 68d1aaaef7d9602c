//! Whether the quarantine can keep the guarded files that a command would make.

use zonekeep_confine::plan::Plan;

use super::Command;
use crate::error::Error;

/// Fails where the quarantine takes nothing more from the zones of a plan. The launcher checks
/// it as well, where it could only report a sandbox that cannot be started.
#[cfg(target_os = "linux")]
pub(super) fn check(plan: &Plan, command: &Command) -> Result<(), Error> {
    use zonekeep_confine::plan::Access;
    use zonekeep_confine::quarantine::{self, Full};

    use crate::error::Remedy;

    let Some(watch) = &plan.watch else { return Ok(()) };
    let zones = plan.zones().filter(|bind| bind.access == Access::Rw);
    let zones: Vec<_> = zones.map(|bind| bind.host.clone()).collect();
    quarantine::check_room(&watch.quarantine, &zones).map_err(|full| Error::QuarantineFull {
        command: command.line(),
        reason: full.to_string(),
        remedy: match full {
            Full::Project => Remedy::DropOwnEntries,
            _ => Remedy::DropAllEntries,
        },
    })
}

/// Systems without a quarantine have no guards that would fill it.
#[cfg(not(target_os = "linux"))]
pub(super) fn check(_: &Plan, _: &Command) -> Result<(), Error> {
    Ok(())
}
