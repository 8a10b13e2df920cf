import AssociationFiles
import CCurl
import ExactNames
import Foundation

/// One request for the association file of a domain, with libcurl (libcurl-easy(3)).
struct AssociationFetch {
    private let request: AssociationRequest

    init(_ request: AssociationRequest) { self.request = request }

    /// Fetches the file and reads it. Blocks for the request's time at most.
    func verdict() -> AssociationVerdict {
        guard ostiary_curl_start() == CURLE_OK, let handle = curl_easy_init() else {
            return .helperFailed
        }
        defer { curl_easy_cleanup(handle) }
        let body = ReceivedBody()
        var route: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(route) }
        if !request.server.connectTo.isEmpty {
            route = curl_slist_append(nil, "\(request.relyingParty.domain):443:\(request.server.connectTo)")
        }
        guard configure(handle, body, route) else { return .helperFailed }
        let code = curl_easy_perform(handle)
        if body.isTooLarge || code == CURLE_FILESIZE_EXCEEDED { return .tooLarge }
        guard code == CURLE_OK else { return Self.verdict(of: code) }
        return Self.verdict(ofStatus: ostiary_curl_status(handle)) ?? verdict(on: body.bytes)
    }

    /// HTTPS alone, no redirect, no proxy, no cookies, no names and passwords of the user's files, and nothing compressed,
    /// because a small answer could then become a large one.
    private func configure(
        _ handle: UnsafeMutableRawPointer, _ body: ReceivedBody, _ route: UnsafeMutablePointer<curl_slist>?
    ) -> Bool {
        let url = "https://\(request.relyingParty.domain)\(AssociationFile.path)"
        let texts: [(CURLoption, String)] = [
            (CURLOPT_URL, url), (CURLOPT_PROTOCOLS_STR, "https"), (CURLOPT_PROXY, ""),
            (CURLOPT_USERAGENT, "ostiary-association"),
        ]
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NOSIGNAL, 1), (CURLOPT_TIMEOUT_MS, Int(request.milliseconds)),
            (CURLOPT_CONNECTTIMEOUT_MS, Int(request.milliseconds)), (CURLOPT_SSL_VERIFYPEER, 1),
            (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            (CURLOPT_MAXFILESIZE, AssociationFile.maximumByteCount), (CURLOPT_NETRC, 0),
        ]
        var codes = texts.map { ostiary_curl_set_text(handle, $0.0, $0.1) }
        codes += numbers.map { ostiary_curl_set_number(handle, $0.0, $0.1) }
        if !request.server.authorities.isEmpty {
            codes.append(ostiary_curl_set_text(handle, CURLOPT_CAINFO, request.server.authorities))
            codes.append(ostiary_curl_set_text(handle, CURLOPT_CAPATH, nil))
        }
        if let route { codes.append(ostiary_curl_set_list(handle, CURLOPT_CONNECT_TO, route)) }
        codes.append(
            ostiary_curl_set_sink(
                handle,
                { bytes, size, count, context in
                    let received = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    return Unmanaged<ReceivedBody>.fromOpaque(context!).takeUnretainedValue().append(received)
                }, Unmanaged.passUnretained(body).toOpaque()))
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    private static func verdict(of code: CURLcode) -> AssociationVerdict {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CONNECT_ERROR,
            CURLE_SSL_CACERT_BADFILE:
            .untrusted
        default: .unreachable
        }
    }

    /// nil for the status of an answer that is a file.
    private static func verdict(ofStatus status: Int) -> AssociationVerdict? {
        switch status {
        case 200: nil
        case 300..<400: .redirected
        case 404, 410: .notFound
        default: .refused
        }
    }

    private func verdict(on bytes: Data) -> AssociationVerdict {
        do throws(AssociationFileError) {
            return try AssociationFile(bytes).lists(request.applicationID) ? .associated : .notListed
        } catch {
            return error == .tooLarge ? .tooLarge : .malformed
        }
    }
}

/// The bytes that a server has sent, up to the size of the largest file.
private final class ReceivedBody {
    private(set) var bytes = Data()
    private(set) var isTooLarge = false

    /// Takes bytes.
    ///
    /// - Returns: the number of taken bytes; fewer than `received` ends the transfer.
    func append(_ received: UnsafeRawBufferPointer) -> Int {
        guard bytes.count + received.count <= AssociationFile.maximumByteCount else {
            isTooLarge = true
            return 0
        }
        bytes.append(contentsOf: received)
        return received.count
    }
}
