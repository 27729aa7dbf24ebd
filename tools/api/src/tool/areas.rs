//! Areas that slices share, by name, each of which merges by itself.

/// Defines a struct whose fields are areas that merge by themselves: the paper's `SP_CreateSharedArea` with `autoMerge`. Each field has a type of [`crate::merge`], which says how.
///
/// Each slice has one of its own, which starts as `Default`; they are put together field by field, in the order of execution. What is made is an ordinary struct with `Clone`, `Default`,
/// `Merge` and what encodes it, so it may also be a field of another one. [`crate::auto_merge!`] makes it all that a tool needs.
///
/// ```no_run,standalone_crate
/// # // A doc test is a program with a `main` of its own, so `image!` is left out here.
/// use superpin_tool::merge::{Max, Sum};
/// use superpin_tool::{At, NoOptions, Out, Tool, Trace, json};
///
/// superpin_tool::areas! {
///     struct Seen {
///         instructions: Sum,
///         longest_block: Max,
///     }
/// }
///
/// fn block(seen: &mut Seen, length: u64) {
///     seen.instructions.0 += length;
///     seen.longest_block.0 = seen.longest_block.0.max(Some(length));
/// }
///
/// struct Blocks;
///
/// impl Tool for Blocks {
///     const NAME: &'static str = "blocks";
///     const ABOUT: &'static str = "Count instructions of blocks that are entered";
///     type Options = NoOptions;
///     superpin_tool::auto_merge!(Seen);
///
///     fn new(_: NoOptions) -> Result<Self, String> {
///         Ok(Blocks)
///     }
///
///     fn instrument(&self, trace: &Trace<'_, Seen>) {
///         for block_of_app in trace.blocks() {
///             block_of_app.call(At::Before, block, (block_of_app.len(),));
///         }
///     }
///
///     fn fini(&self, seen: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
///         writeln!(out, "{} instructions, at most {:?} in a block", seen.instructions.0, seen.longest_block.0)
///     }
///
///     fn values(&self, seen: &Seen) -> Option<json::Value> {
///         json::to_value(seen).ok() // by the names of the areas
///     }
/// }
/// ```
#[macro_export]
macro_rules! areas {
    ($($(#[$of_struct:meta])* $visibility:vis struct $name:ident {
        $($(#[$of_field:meta])* $of_area:vis $area:ident: $merges:ty),* $(,)?
    })*) => {$(
        $(#[$of_struct])*
        #[derive(Clone, Default, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "superpin_tool::serde")]
        $visibility struct $name {
            $($(#[$of_field])* $of_area $area: $merges,)*
        }

        impl $crate::merge::Merge for $name {
            fn merge(&mut self, next: Self) {
                $($crate::merge::Merge::merge(&mut self.$area, next.$area);)*
            }
        }
    )*};
}

/// In an `impl Tool`: what slices work on, hand in and add up to is one type, that merges by itself. It stands for `Local`, `Result` and `Total`, and for `begin`, `finish` and `fold`.
///
/// The type is one of [`crate::areas!`], or any other with [`crate::merge::Merge`], `Default`, `Clone` and serde's traits: `superpin_tool::auto_merge!(Sum)` is enough for a counter. A tool that needs
/// to know the slice's number when it begins writes these six items out.
#[macro_export]
macro_rules! auto_merge {
    ($shared:ty) => {
        type Local = $shared;
        type Result = $shared;
        type Total = $shared;

        fn begin(&self, _: $crate::SliceInfo) -> $shared {
            <$shared as ::std::default::Default>::default()
        }

        fn finish(&self, local: &$shared) -> $shared {
            ::std::clone::Clone::clone(local)
        }

        fn fold(&self, total: &mut $shared, _: $crate::SliceInfo, part: $shared) {
            $crate::merge::Merge::merge(total, part);
        }
    };
}
