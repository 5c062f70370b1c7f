# The image of Tidegate with Docker, BuildKit or buildah: `docker build -t tidegate:0.2.0 .`
# The files are the same that `npm run image` writes, which needs neither Docker nor a registry (scripts/image/README.md).
FROM debian:trixie-slim AS files
RUN apt-get update && apt-get install -y --no-install-recommends nodejs npm dpkg util-linux ca-certificates
WORKDIR /src
COPY . .
RUN npm ci && node scripts/image.js --directory /image

FROM scratch
COPY --from=files /image /
LABEL org.opencontainers.image.title="Tidegate"
LABEL org.opencontainers.image.description="A front door for every edge site of one Kubernetes cluster: traffic stays in the site, and works while the cloud is unreachable."
LABEL org.opencontainers.image.version="0.2.0"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.base.name="debian:trixie"
ENV PATH=/usr/local/bin:/usr/bin:/usr/sbin
ENV NODE_ENV=production
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
ENV MALLOC_ARENA_MAX=2
ENV MALLOC_MMAP_THRESHOLD_=262144
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/usr/bin/node", "--max-semi-space-size=4", "/opt/tidegate/bin/tidegate"]
