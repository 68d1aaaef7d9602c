//! Nothing is put into quarantine here: the profile refuses guarded files.
