package import HelperProcesses
package import PAMBiometry
package import PAMProtocol
import Synchronization

/// The PAM service that knows an owner's face, and whether its file is the one that was there when the passcode was entered
/// last.
///
/// Nobody outside the service knows which faces it knows, so a face that was added to it goes unnoticed. Its file is known.
package final class FaceService: Sendable {
    /// The name of the service.
    package let name: String
    let recognizer: PAMRecognizer
    /// The cameras are for one question after the other.
    let turn = ReaderTurn()
    /// The file at the last passcode entry; nil before the first one, and after another file was seen. It is not kept beyond
    /// the daemon's end, since biometry then waits for the passcode anyway.
    private let adopted = Mutex<PAMServiceFile?>(nil)

    /// - Parameters:
    ///   - name: the name of the PAM service.
    ///   - helper: how `ostiary-pam` is reached.
    ///   - user: the name of the face's owner; nil for the user of this process.
    ///   - systemBus: the socket of the system bus, for the service's module.
    ///   - folder: the folder of service files.
    ///   - trustedUserID: the user to whom the service file must belong; root, except in tests.
    package init(
        _ name: String, _ helper: HelperRoad, user: String?, systemBus: String,
        folder: String = PAMServiceFile.standardFolder,
        trustedUserID: UInt32 = 0
    ) {
        self.name = name
        recognizer = PAMRecognizer(
            helper, service: name, user: user, systemBus: systemBus, folder: folder, trustedUserID: trustedUserID)
    }

    /// The service as its file describes it now. Starts nothing.
    ///
    /// - Throws: why an attempt would not even begin.
    package func file() throws(PAMFailure) -> PAMServiceFile {
        let file = try recognizer.serviceFile()
        guard recognizer.helper.isThere else { throw .withoutHelper(reason: nil) }
        return file
    }

    /// What is known of the service now.
    struct Look {
        /// Why it cannot be used by itself.
        var failure: PAMFailure?
        /// Whether its file is the one of the last passcode entry.
        var isAdopted = false
        /// Whether this look was the first one that found another file than that.
        var isNews = false
    }

    func look() -> Look {
        let file: PAMServiceFile
        do throws(PAMFailure) { file = try self.file() } catch { return Look(failure: error) }
        return adopted.withLock { adopted in
            guard let former = adopted else { return Look() }
            guard former != file else { return Look(isAdopted: true) }
            // Also when the former file comes back.
            adopted = nil
            return Look(isNews: true)
        }
    }

    /// The passcode was entered: the service's file of now counts.
    func adopt() {
        let file = try? file()
        adopted.withLock { $0 = file }
    }
}
