import DeviceEvents
import Owners
import Threading
import FingerprintReader
import Logging
import Synchronization

extension Broker {
    /// Has watches answered from now on when a fingerprint reader is plugged in or out. Returns at once.
    ///
    /// fprintd announces neither, and ends when nobody uses it. So udev's announcements of USB devices are a reason to ask fprintd
    /// again; nothing in them is believed. Nobody is asked while nobody watches. A machine that does not let the daemon listen is
    /// logged once; a reader is then noticed when somebody asks for the state.
    package func followReaders() {
        guard accounts.contains(where: { $0.biometry != nil }) else { return }
        let watcher = PlugWatcher(rest: ReaderChange.rest, longest: ReaderChange.longest) { [weak self] in
            self?.readersMayHaveChanged()
        } failed: { [log] in
            log.notice("plugged readers are noticed no longer", metadata: ["cause": "\($0)"])
        }
        do throws(DeviceEventError) { try watcher.start() } catch {
            return log.notice("plugged readers are not noticed", metadata: ["cause": "\(error)"])
        }
        plugs.withLock { $0 = watcher }
    }

    private func readersMayHaveChanged() {
        for account in accounts { environmentMayHaveChanged(of: account, askingSensor: true) }
        // Devices that come and go while fprintd answers lead to one more question, not to one each.
        looks.finish()
    }
}
