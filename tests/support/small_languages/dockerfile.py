"""Dockerfiles, beside BuildKit's parser and dockerfile-utils, which take a wrong array for a command and any flag of RUN."""

from small_languages.rows import Rows

IMAGE = """# syntax=docker/dockerfile:1
# check=skip=all

ARG VERSION=3.20
FROM --platform=$BUILDPLATFORM golang:1.27-alpine AS build
WORKDIR /src
ENV GOFLAGS="-mod=vendor $MORE" A=${B:-c} \\
    # what is left out
    D=e\\ f

COPY go.* ./
COPY --link --chown=1000:1000 . .
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --network=none \\
    go build -o /app . \\
 && echo "$((1 + 2))" > /x
RUN [ -f /app ] || [ "$x" = "y" ]
RUN <<EOF
set -e
 EOF
EOFX
echo ${A}
EOF
FROM registry.example.com:5000/team/base_image:${VERSION}@sha256:HASH
LABEL org.example.title="A title" maintainer=me
COPY --from=build ["/app", "/a b/"]
COPY <<-"EOT" /etc/motd
\thello
\tEOT
EXPOSE 80/tcp 90-99 $PORT
VOLUME /data ["x
USER app:app
STOPSIGNAL SIGTERM
SHELL ["/bin/sh", "-c"]
HEALTHCHECK --interval=5m30s --retries=3 CMD curl -f http://localhost/ || exit 1
ONBUILD RUN make
ENTRYPOINT ["/app", "--\\u0041", \\
  "b"]
cmd exec /app
""".replace("@sha256:HASH", "").replace(' ["x', "")

ROWS = Rows(
    accepted=[
        IMAGE,
        "FROM a",
        "FROM a\n",
        "from a as b\nrun c\n",
        "FROM a:1@sha256:" + "0" * 64 + "\n",
        "FROM ${a:-b}/c:$d\n",
        "\n# a\n\nARG a\nARG b=1 c\nFROM $a\n",
        "FROM a\r\nRUN b \\\r\n  c\r\n",
        "# escape=\\\nFROM a\n",
        "# a = b\n# syntax=x\nFROM a\n",
        "FROM a\nENV b c d\n",
        'FROM a\nENV b="c\\"d" e=\'f g\' h=$i j=${k} l="${m:+n o}"\n',
        'FROM a\nENV b="c \\\n  d"\n',
        'FROM a\nLABEL "b"=c \'d\'="e"\n',
        "FROM a\nADD --checksum=sha256:b https://c/d /e\n",
        "FROM a\nCOPY --chmod=755 b c d/\n",
        "FROM a\nRUN b <<EOF > c\nd\nEOF\nRUN e\n",
        "FROM a\nRUN <<-'END'\n\tEN\n\t\tEND",
        "FROM a\nRUN b \\\n# c\n\n  d\n",
        "FROM a\nRUN b <<< c && echo d > e 2>&1\n",
        "FROM a\nRUN --mount=type=secret,id=b,required=true --security=insecure c\n",
        "FROM a\nRUN echo \\\\\nRUN b\n",
        'FROM a\nENV b="${c:+${c}:}d" e=${f:-${g}}\n',
        "FROM a\nRUN sed 's/<a>1<\\/a>/b/' c\n",
        "FROM a\nCMD []\n",
        'FROM a\nCMD [ "b" , "c" ]\n',
        "FROM a\nHEALTHCHECK NONE\n",
        'FROM a\nVOLUME ["b"]\nVOLUME c d\n',
        "FROM a\nMAINTAINER B <c@d>\n",
        "FROM a\nWORKDIR b c\n",
    ],
    refused=[
        "",
        "# a\n",
        "RUN a\n",
        "FROM\n",
        "FROM a b\n",
        "FROM a AS\n",
        "FROM a AS 1\n",
        "FROM --flag=b a\n",
        "FROM a\nRUNS b\n",
        "FROM a\nCOPY b\n",
        'FROM a\nCOPY ["b"]\n',
        "FROM a\nCOPY --form=b c d\n",
        "FROM a\nCOPY --link=b c d\n",
        "FROM a\nADD --from=b c d\n",
        "FROM a\nENV b\n",
        "FROM a\nENV b=c d\n",
        "FROM a\nENV =b\n",
        'FROM a\nENV b="c\n',
        "FROM a\nENV b='c\n",
        "FROM a\nARG\n",
        "FROM a\nEXPOSE b\n",
        "FROM a\nEXPOSE 80/b\n",
        "FROM a\nSTOPSIGNAL b\n",
        "FROM a\nSHELL b\n",
        "FROM a\nHEALTHCHECK b\n",
        "FROM a\nHEALTHCHECK NONE b\n",
        "FROM a\nHEALTHCHECK --interval=5 CMD b\n",
        "FROM a\nHEALTHCHECK --times=5 CMD b\n",
        "FROM a\nONBUILD FROM b\n",
        "FROM a\nONBUILD ONBUILD RUN b\n",
        "FROM a\nRUN <<EOF\nb\n",
        "FROM a\nRUN <<EOF\nEOFX\n",
        "# escape=x\nFROM a\n",
        "FROM a\nWORKDIR\n",
    ],
    stricter=[
        "FROM a\nRUN\n",
        "FROM a:b:c\n",
        'FROM a\nCMD ["b"\n',
        "FROM a\nCMD ['b']\n",
        "FROM a\nRUN --mont=b c\n",
        "FROM a\nRUN --mount=type=b c\n",
        "# escape=`\nFROM a\n",
        "FROM a\nRUN <<TAG\nTAG\n",
        "FROM a\nRUN echo $((1<<2))\n",
        "FROM a\nENV b=${c\n",
        "FROM a\nEN\\\nV b=c\n",
        "FROM a\nCOPY b\\\nc d\n",
    ],
    looser=["FROM a\nCOPY --from=b --from=c d e\n"],
    tokens=[
        *(
            "FROM ",
            "RUN ",
            "COPY --from=",
            "ENV ",
            " \\\n    ",
            "\n\n",
            '["',
            '", "',
            '"]\n',
            "${",
            ":-",
            "<<EOF\n",
            "EOF\n",
            "EO",
            "# ",
        ),
        *("--mount=type=cache", ",target=", " AS ", " && ", "\\", '="', "\n"),
    ],
)
