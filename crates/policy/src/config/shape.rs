//! How a value may look: the vocabulary that the tables in [`super::keys`] are
//! written in. Validation and the JSON Schema both come from those tables.

/// How a value may look.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Anything, to be understood by somebody else.
    Any,
    /// `true` or `false`.
    Bool,
    /// A whole number within bounds.
    Int { min: u64, max: u64 },
    /// A number within bounds, with at most so many digits after the point.
    Decimal { min: u32, max: u32, digits: u32 },
    /// One piece of text.
    Text,
    /// Text, number or boolean, taken as text.
    Scalar,
    /// One of some words, each with what it means.
    OneOf(&'static [(&'static str, &'static str)]),
    /// A list.
    List(&'static Shape),
    /// A map with keys of the user's choice.
    MapOf(&'static Shape),
    /// A map with these keys and no others.
    Map(&'static [Key]),
    /// One of several, told apart by being a scalar, a list or a map.
    Either(&'static [Shape]),
}

/// A key of a [`Shape::Map`].
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// What the key means, for the schema.
    pub(crate) doc: &'static str,
    /// What holds when it is absent, as JSON.
    pub(crate) default: Option<&'static str>,
    pub(crate) required: bool,
    pub(crate) deprecated: bool,
    /// What to write instead of a value of the wrong type.
    pub(crate) hint: Option<&'static str>,
    /// What to do instead of writing the key: it is none, and somebody may think so.
    pub(crate) refused: Option<&'static str>,
}

impl Key {
    pub(crate) const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Key {
        Key {
            name,
            shape,
            doc,
            default: None,
            required: false,
            deprecated: false,
            hint: None,
            refused: None,
        }
    }

    pub(crate) const fn required(self) -> Key {
        Key { required: true, ..self }
    }

    pub(crate) const fn deprecated(self) -> Key {
        Key { deprecated: true, ..self }
    }

    pub(crate) const fn default(self, json: &'static str) -> Key {
        Key { default: Some(json), ..self }
    }

    /// Returns whether the key is one to write.
    pub(crate) fn is_current(&self) -> bool {
        !self.deprecated && self.refused.is_none()
    }

    pub(crate) const fn refused(self, instead: &'static str) -> Key {
        Key { refused: Some(instead), ..self }
    }

    pub(crate) const fn hint(self, hint: &'static str) -> Key {
        Key { hint: Some(hint), ..self }
    }
}

impl Shape {
    /// Returns what the value has to be, to follow "must be".
    pub(crate) fn describe(&self) -> String {
        match self {
            Shape::Any => "a value".to_owned(),
            Shape::Bool => "true or false".to_owned(),
            Shape::Int { min, max } if *max >= u64::from(u32::MAX) => {
                format!("a whole number, {min} or more")
            }
            Shape::Int { min, max } => format!("a whole number from {min} to {max}"),
            Shape::Decimal { min, max, .. } => format!("a number from {min} to {max}"),
            Shape::Text | Shape::Scalar => "text".to_owned(),
            Shape::OneOf([(only, _)]) => format!("'{only}'"),
            Shape::OneOf(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }
            Shape::List(_) => "a list".to_owned(),
            Shape::MapOf(_) | Shape::Map(_) => "a map".to_owned(),
            Shape::Either(shapes) => {
                let shapes: Vec<String> = shapes.iter().map(Shape::describe).collect();
                shapes.join(", or ")
            }
        }
    }

    /// Returns whether a map could stand here, so that a null means an empty one.
    pub(crate) fn takes_map(&self) -> bool {
        match self {
            Shape::MapOf(_) | Shape::Map(_) | Shape::Any => true,
            Shape::Either(shapes) => shapes.iter().any(Shape::takes_map),
            _ => false,
        }
    }
}
