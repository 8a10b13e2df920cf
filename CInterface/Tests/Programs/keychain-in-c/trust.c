/* What a program asks about a certificate that signed itself. */
#include "program.h"

#include <stdio.h>

static void evaluate(SecTrustRef trust)
{
    CFErrorRef error = NULL;
    SecTrustResultType result = 99;
    Boolean is_trusted = SecTrustEvaluateWithError(trust, &error);
    truth("trusted", is_trusted);
    if (!is_trusted)
        failure("why", &error);
    SecTrustGetTrustResult(trust, &result);
    printf("result: %u\n", result);
}

void trust(const char *digits)
{
    CFDataRef bytes = hexadecimal(digits);
    SecCertificateRef certificate = SecCertificateCreateWithData(NULL, bytes);
    SecPolicyRef basic = SecPolicyCreateBasicX509();
    SecTrustRef trust = NULL;
    status("make", SecTrustCreateWithCertificates(certificate, basic, &trust));
    evaluate(trust);
    const void *values[] = {certificate};
    CFArrayRef anchors = CFArrayCreate(NULL, values, 1, &kCFTypeArrayCallBacks);
    status("anchor", SecTrustSetAnchorCertificates(trust, anchors));
    SecTrustResultType result = 99;
    SecTrustGetTrustResult(trust, &result);
    printf("result: %u\n", result);
    evaluate(trust);
    CFArrayRef chain = SecTrustCopyCertificateChain(trust);
    printf("chain: %ld\n", CFArrayGetCount(chain));
    truth(
        "lends", CFEqual(SecTrustGetCertificateAtIndex(trust, 0), CFArrayGetValueAtIndex(chain, 0))
            && SecTrustGetCertificateCount(trust) == 1 && !SecTrustGetCertificateAtIndex(trust, 1));
    SecKeyRef key = SecTrustCopyKey(trust), same_key = SecCertificateCopyKey(certificate);
    truth("key", CFEqual(key, same_key));

    CFStringRef host = string("door.example.org");
    SecPolicyRef server = SecPolicyCreateSSL(1, host);
    status("policy", SecTrustSetPolicies(trust, server));
    CFErrorRef error = NULL;
    truth("trusted", SecTrustEvaluateWithError(trust, &error));
    failure("why", &error);
    CFDictionaryRef properties = SecPolicyCopyProperties(server);
    text("properties", CFDictionaryGetValue(properties, kSecPolicyName));

    SecTrustRef none = trust;
    status("nothing", SecTrustCreateWithCertificates(NULL, basic, &none));
    SecTrustEvaluateWithError((SecTrustRef)host, &error);
    failure("of text", &error);
    truth(
        "refused", !none && SecTrustCreateWithCertificates(certificate, host, &none) == errSecParam
            && SecTrustCreateWithCertificates(certificate, basic, NULL) == errSecParam
            && SecTrustSetPolicies(trust, NULL) == errSecParam
            && SecTrustSetAnchorCertificates(trust, (CFArrayRef)host) == errSecParam
            && SecTrustSetVerifyDate(trust, (CFDateRef)host) == errSecParam
            && SecTrustGetTrustResult(NULL, &result) == errSecParam && result == kSecTrustResultInvalid
            && !SecPolicyCreateSSL(1, (CFStringRef)certificate) && !SecPolicyCreateRevocation(1)
            && SecTrustSetOCSPResponse(trust, bytes) == errSecUnimplemented && !SecTrustCopyExceptions(trust)
            && !SecTrustCopyKey((SecTrustRef)host) && !SecTrustCopyCertificateChain(NULL)
            && SecTrustGetCertificateCount(NULL) == 0);
    CFRelease(properties);
    CFRelease(server);
    CFRelease(host);
    CFRelease(same_key);
    CFRelease(key);
    CFRelease(chain);
    CFRelease(anchors);
    CFRelease(trust);
    CFRelease(basic);
    CFRelease(certificate);
    CFRelease(bytes);
}
