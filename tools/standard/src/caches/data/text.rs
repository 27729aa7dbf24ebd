//! Rows as a table.

use std::io;

use superpin_tool::Out;
use superpin_tool::json::{Value, json};

use super::misses::Counts;
use super::rows::{Data, Row};
use crate::caches::shapes::Shapes;
use crate::profiles::places::shown;

/// Writes a row for each.
pub fn write(rows: &[Row], shapes: &Shapes, out: &mut Out<'_>) -> io::Result<()> {
    writeln!(out, "Caches: {}", shapes.described())?;
    let mut header = format!("{:>12}", "TLB");
    for name in names(shapes) {
        header += &format!(" {name:>12}");
    }
    writeln!(out, "{header}  misses, in")?;
    for (data, counts) in rows {
        let columns: Vec<String> = numbers(counts, shapes).map(|number| format!("{number:>12}")).collect();
        writeln!(out, "{}  {}", columns.join(" "), name(data))?;
    }
    Ok(())
}

/// Of the caches, by level.
fn names(shapes: &Shapes) -> impl Iterator<Item = &'static str> {
    ["L1"].into_iter().chain(shapes.lower.iter().map(|named| named.name))
}

fn numbers(counts: &Counts, shapes: &Shapes) -> impl Iterator<Item = u64> {
    [counts.tlbs].into_iter().chain(counts.caches).take(2 + shapes.lower.len())
}

fn name(data: &Data) -> String {
    match data {
        Data::All => "all".into(),
        Data::Code => "code".into(),
        Data::Blocks { routine, line: Some((file, line)), .. } => {
            format!("blocks of {routine} ({}:{line})", shown(file))
        }
        Data::Blocks { routine, image, line: None } => format!("blocks of {routine} in {image}"),
        Data::Variable { name, image } => format!("{name} in {image}"),
        Data::Stack => "stack".into(),
        Data::Other => "other memory".into(),
    }
}

/// The same for programs.
pub fn values(rows: &[Row], shapes: &Shapes) -> Value {
    let misses = |counts: &Counts| -> Value {
        let names = ["TLB"].into_iter().chain(names(shapes)).map(str::to_owned);
        names.zip(numbers(counts, shapes).map(|number| json!(number))).collect()
    };
    let of = |data: &Data| match data {
        Data::All => json!({ "kind": "all" }),
        Data::Code => json!({ "kind": "code" }),
        Data::Blocks { routine, image, line } => {
            let mut of = json!({ "kind": "blocks", "routine": routine, "image": image });
            if let Some((file, line)) = line {
                of["file"] = file.as_str().into();
                of["line"] = (*line).into();
            }
            of
        }
        Data::Variable { name, image } => json!({ "kind": "variable", "variable": name, "image": image }),
        Data::Stack => json!({ "kind": "stack" }),
        Data::Other => json!({ "kind": "other" }),
    };
    let row = |(data, counts): &Row| {
        let mut row = of(data);
        row["misses"] = misses(counts);
        row
    };
    let all = rows.first().map(|(_, counts)| json!({ "misses": misses(counts) }));
    json!({ "all": all, "rows": rows.iter().skip(1).map(row).collect::<Vec<_>>() })
}
