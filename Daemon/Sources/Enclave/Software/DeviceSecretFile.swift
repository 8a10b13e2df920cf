import SecretMemory

/// The file `device-secret` in the folder of a store.
struct DeviceSecretFile {
    static let name = "device-secret"

    private let file: PrivateFile

    /// - Parameter owner: the user who must own file and folder.
    init(directory: String, ownedBy owner: UInt32) {
        file = PrivateFile(Self.name, inFolder: directory, ownedBy: owner)
    }

    /// The secret, after a check that folder and file belong to the owner alone.
    func read() throws(EnclaveError) -> SecretBytes {
        let contents: SecretBytes
        do { contents = try file.read(atMost: DeviceSecretFormat.byteCount) } catch { throw EnclaveError(error) }
        return try DeviceSecretFormat.decode(contents)
    }

    /// The secret; a new one if there is none.
    func readOrCreate() throws(EnclaveError) -> SecretBytes {
        do {
            return try read()
        } catch .deviceSecretMissing {
            let secret = SecretBytes(random: DeviceSecretFormat.secretByteCount)
            do { try file.create(DeviceSecretFormat.encode(secret)) } catch { throw EnclaveError(error) }
            return try read()
        }
    }
}

extension EnclaveError {
    /// The enclave's error for a fault of the device secret's file.
    fileprivate init(_ error: PrivateFileError) {
        self =
            switch error {
            case .missing: .deviceSecretMissing
            case .unusable(let defect): .deviceSecretUnreadable(defect)
            case .notWritten(let code): .unavailable(code: UInt32(code))
            }
    }
}
