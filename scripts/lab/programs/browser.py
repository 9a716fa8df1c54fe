"""Asks for a page as a browser does: curl_cffi with Chrome's TLS greeting.

argv: the directory of packages, the CA, the URL, HOST:PORT:ADDRESS.
"""

import sys


def main():
    """Ask once and print the status."""
    packages, ca, url, resolve = sys.argv[1:]
    sys.path.insert(0, packages)
    from curl_cffi import Curl, CurlOpt

    curl = Curl()
    curl.setopt(CurlOpt.URL, url.encode())
    curl.setopt(CurlOpt.RESOLVE, [resolve.encode()])
    curl.setopt(CurlOpt.CAINFO, ca.encode())
    curl.setopt(CurlOpt.TIMEOUT_MS, 10000)
    curl.impersonate("chrome131")
    curl.perform()
    curl.close()


if __name__ == "__main__":
    main()
