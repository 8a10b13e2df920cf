import Foundation

/// Opens a page in the browser that the person has chosen, with `xdg-open`.
struct Browser: Sendable {
    /// Searched in `PATH`, unless it is a path.
    var program = "xdg-open"

    /// Returns at once; `report` gets the reason when the browser was not opened.
    func open(_ url: URL, _ report: @escaping @Sendable (String?) -> Void) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // The address begins with its scheme, so it is no option.
        process.arguments = [program, url.absoluteString]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let program = program
        process.terminationHandler = { process in
            let status = process.terminationStatus
            switch status {
            case 0: report(nil)
            case 127: report("\(program) is not installed. Install the package xdg-utils, and a browser.")
            default: report("\(program) could not open the page (status \(status)). Is there a desktop and a browser?")
            }
        }
        do { try process.run() } catch { report("\(program) could not be started: \(error.localizedDescription)") }
    }
}
