# Build the wheel and its dependencies apart, so that the image holds no compiler and no cache.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY vaultd ./vaultd
RUN python -m venv /opt/vaultd \
 && /opt/vaultd/bin/pip install --no-cache-dir --disable-pip-version-check .

FROM python:3.13-slim
LABEL org.opencontainers.image.title="vaultd" \
      org.opencontainers.image.description="Long-term memory for language models in your Obsidian vault" \
      org.opencontainers.image.licenses="MIT"
# whoever the container runs as (compose: VAULT_UID) may write to a fresh volume; what is made there is that user's alone
RUN useradd --create-home --uid 1000 vaultd \
 && install -d -m 1777 -o vaultd -g vaultd /vault /state
COPY --from=build /opt/vaultd /opt/vaultd
ENV PATH="/opt/vaultd/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    VAULTD_VAULT=/vault \
    VAULTD_STATE_DIR=/state \
    VAULTD_HOST=0.0.0.0 \
    VAULTD_PORT=8000
# by number, so that a cluster can see that it is not root
USER 1000
VOLUME ["/vault", "/state"]
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"VAULTD_PORT\"]}/health', timeout=4)"]
CMD ["vaultd", "serve"]
