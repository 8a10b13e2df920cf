package import HelperProcesses
import UnixSocket

/// How the programs that ask people are reached.
package struct PromptHelpers: Sendable {
    /// Asks on a terminal, or through a pinentry.
    let prompt: HelperRoad
    /// Asks in a window. It is optional, because it needs GTK.
    let sheet: HelperRoad

    package init(prompt: HelperRoad, sheet: HelperRoad) { (self.prompt, self.sheet) = (prompt, sheet) }

    /// The programs of this machine.
    ///
    /// - Parameter program: the absolute path of `ostiary-prompt`; `ostiary-sheet` lies beside it.
    init(program: String) {
        self.init(
            prompt: .spawned(program: program),
            sheet: .spawned(program: PathName.folder(of: program) + "/ostiary-sheet"))
    }
}
