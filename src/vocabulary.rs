//! Names of the values of an enum, said once.

/// Gives an enum its list of values and a method for each column of texts:
///
/// ```text
/// vocabulary! {
///     MeanOf: name,
///     /// In words.
///     words;
///     Words("words", "all tokens but special ones"),
///     Last("last", "last token"),
/// }
/// ```
///
/// `ALL` has the order of the rows, and a value without a row does not compile. What a column called `name` says is
/// read again by `from_name` and `str::parse`; with a column called `title` as the second the two are `CHOICES`, as
/// [`choose`](crate::options::choose) takes them.
macro_rules! vocabulary {
    (@column $(#[$doc:meta])* $column:ident; $($value:ident $text:literal)+) => {
        $(#[$doc])*
        pub const fn $column(self) -> &'static str {
            match self {
                $(Self::$value => $text,)+
            }
        }
    };
    (@all $($value:ident)+) => {
        /// Every one, in the order in which they are offered.
        pub const ALL: [Self; [$(stringify!($value)),+].len()] = [$(Self::$value),+];
    };
    (@named $type:ident; $($value:ident $name:literal)+) => {
        impl $type {
            vocabulary!(@all $($value)+);
            vocabulary!(@column #[doc = "The name in files and on the command line."] name; $($value $name)+);

            /// The one with this [`name`](Self::name).
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                Self::from_name(name).ok_or_else(|| $crate::options::one_of(Self::ALL.map(Self::name)))
            }
        }
    };
    ($type:ident: name; $($value:ident($name:literal)),+ $(,)?) => {
        vocabulary!(@named $type; $($value $name)+);
    };
    ($type:ident: name, title; $($value:ident($name:literal, $title:literal)),+ $(,)?) => {
        vocabulary!(@named $type; $($value $name)+);

        impl $type {
            /// Every one with its name and title.
            pub const CHOICES: [(Self, &'static str, &'static str); Self::ALL.len()] =
                [$((Self::$value, $name, $title)),+];
            vocabulary!(@column #[doc = "On screen."] title; $($value $title)+);
        }
    };
    ($type:ident: name, $(#[$doc:meta])* $more:ident; $($value:ident($name:literal, $text:literal)),+ $(,)?) => {
        vocabulary!(@named $type; $($value $name)+);

        impl $type {
            vocabulary!(@column $(#[$doc])* $more; $($value $text)+);
        }
    };
    (
        $type:ident: name, $(#[$doc:meta])* $more:ident, $(#[$docs:meta])* $most:ident;
        $($value:ident($name:literal, $text:literal, $texts:literal)),+ $(,)?
    ) => {
        vocabulary!(@named $type; $($value $name)+);

        impl $type {
            vocabulary!(@column $(#[$doc])* $more; $($value $text)+);
            vocabulary!(@column $(#[$docs])* $most; $($value $texts)+);
        }
    };
    ($type:ident: $(#[$doc:meta])* $column:ident; $($value:ident($text:literal)),+ $(,)?) => {
        impl $type {
            vocabulary!(@all $($value)+);
            vocabulary!(@column $(#[$doc])* $column; $($value $text)+);
        }
    };
}

#[cfg(test)]
mod tests {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Drink {
        Tea,
        Coffee,
    }

    vocabulary! {
        Drink: name, title;
        Coffee("coffee", "A coffee"),
        Tea("tea", "Some tea"),
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(Drink::ALL, [Drink::Coffee, Drink::Tea]);
        assert_eq!(Drink::ALL.map(|drink| Drink::from_name(drink.name())), Drink::ALL.map(Some));
        assert_eq!(Drink::CHOICES, Drink::ALL.map(|drink| (drink, drink.name(), drink.title())));
        assert_eq!("Tea".parse::<Drink>(), Err("choose one of coffee, tea".to_owned()));
    }
}
