//! Makes temporary files where programs expect to.

use super::BASE;
use crate::prelude::*;

pub(super) const ATTACK: Attack = Attack {
    name: "work/temporary_files",
    what: "makes temporary files",
    attempt: |t| {
        Outcome::ordinary(
            "a temporary file",
            (|| -> io::Result<()> {
                for path in
                    [t.in_tmp(".own"), Path::new("/dev/shm").join(format!("{}-own", t.token))]
                {
                    fs::write(&path, "1")?;
                    fs::remove_file(&path)?;
                }
                Ok(())
            })(),
        )
    },
    held_by: OWN_TREE,
    ..BASE
};
