/// Words for how well the daemon can tell a program from others.
enum IdentityLabel {
    /// The daemon's label and its meaning, or the label alone if this command does not know it.
    static func explained(_ label: String) -> String {
        label == "advisory" ? "advisory: another program of yours could imitate it" : label
    }
}
